// Creates or changes a short link.
import { useRef, useState } from "preact/hooks";
import { fetchJson } from "../api/request";
import { timezone } from "../api/session";
import { endOfDay, lastDayOf, today } from "../state/period";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";
import { ConfirmDialog } from "./confirm_dialog";
import { DateField } from "./date_field";
import { Dialog } from "./dialog";
import { FormFooter } from "./form_footer";
import { formMessage } from "./form_message";

type Link = Schemas["LinkResource"];
const t = moreTexts.links;
const DATES: string[] = ["expiresAt"];
const ADDRESSES: string[] = ["targetUrl", "expiredRedirectUrl"];
const FIELDS = [
  ["name", t.name, true], ["targetUrl", t.target, true], ["slug", t.slug, false], ["expiresAt", t.expires, false],
  ["expiredRedirectUrl", t.expired, false], ["iosUrl", t.ios, false], ["androidUrl", t.android, false],
] as const;
/** Parameters of the target that name what a click is part of. */
const CAMPAIGN = [
  ["utm_source", texts.filters.fields["visit.utm_source"]], ["utm_medium", texts.filters.fields["visit.utm_medium"]],
  ["utm_campaign", texts.filters.fields["visit.utm_campaign"]],
] as const;
const LABELS = Object.fromEntries(FIELDS);
type Field = (typeof FIELDS)[number][0];

export function LinkDialog({ link, close, done }: {
  link: Link | null;
  close: () => void;
  /** Called with the link as it is now, or null when it was deleted. */
  done: (link: Link | null) => void;
}) {
  const [values, setValues] = useState<Record<Field, string>>(() =>
    Object.fromEntries(FIELDS.map(([field]) => [field, link?.[field] ?? ""])) as Record<Field, string>);
  const [error, setError] = useState("");
  const [removing, setRemoving] = useState(false);
  const path = link ? `/v1/links/${link.id}` : "/v1/links";
  const set = (field: Field, value: string) => setValues((old) => ({ ...old, [field]: value }));
  const lastTarget = useRef(values.targetUrl);
  /** Another target keeps the campaign that is given already. */
  const setTarget = (url: string) => {
    const moved = partsOf(url)[0] !== partsOf(lastTarget.current)[0];
    const kept = CAMPAIGN.map(([name]) => [name, campaignOf(lastTarget.current, name)] as const);
    lastTarget.current = moved && url && CAMPAIGN.every(([name]) => !campaignOf(url, name))
      ? kept.reduce((made, [name, text]) => (text ? withCampaign(made, name, text) : made), url)
      : url;
    set("targetUrl", lastTarget.current);
  };
  const save = async (event: Event) => {
    event.preventDefault();
    const changed = FIELDS.filter(([field]) => values[field] !== (link?.[field] ?? ""));
    if (link && !changed.length) {
      close();
      return;
    }
    const body = Object.fromEntries(changed.map(([field]) => [field, sent(field, values[field])]));
    try {
      done((await fetchJson<Schemas["LinkResponse"]>(path, { method: link ? "PATCH" : "POST", body })).data);
    } catch (problem) {
      setError(formMessage(problem, LABELS));
    }
  };
  if (link && removing) {
    const remove = async () => {
      await fetchJson<void>(path, { method: "DELETE" });
      done(null);
    };
    return <ConfirmDialog title={t.removeOne(link.name)} text={t.confirmRemove(link.name)} action={t.remove} run={remove} close={() => setRemoving(false)} />;
  }
  return (
    <Dialog title={link ? t.edit : t.create} close={close}>
      <form class="form" onSubmit={(event) => void save(event)}>
        {FIELDS.map(([field, label, required]) => (
          <label key={field}>{label}
            {DATES.includes(field)
              ? <DateField name={field} placeholder={moreTexts.shares.noEnd} min={link ? undefined : today(timezone.value)} value={lastDayOf(values[field] ?? "", timezone.value)} change={(day) => set(field, day)} />
              : <input name={field} required={required} value={values[field]}
                placeholder={field === "targetUrl" ? "https://shop.example/summer" : undefined}
                onInput={(e) => set(field, e.currentTarget.value.trimStart())}
                onChange={field === "targetUrl" ? (e) => setTarget(e.currentTarget.value.trim()) : undefined} />}
          </label>
        ))}
        <fieldset class="campaign">
          <legend>{t.campaign}</legend>
          {CAMPAIGN.map(([name, label]) => (
            <label key={name}>{label}
              <input name={name} value={campaignOf(values.targetUrl, name)} disabled={!values.targetUrl}
                onInput={(e) => setTarget(withCampaign(values.targetUrl, name, e.currentTarget.value))} />
            </label>
          ))}
        </fieldset>
        {link && values.slug !== link.slug && <p class="notice" role="status">{t.slugChanges(link.slug)}</p>}
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={t.save} close={close} danger={link ? { label: `${t.remove} …`, run: () => setRemoving(true) } : undefined} />
      </form>
    </Dialog>
  );
}

/** The query of an address, and what stands before and behind it. */
function partsOf(url: string): [string, URLSearchParams, string] {
  const [, before = "", query = "", fragment = ""] = /^([^?#]*)\??([^#]*)(#.*)?$/s.exec(url) ?? [];
  return [before, new URLSearchParams(query), fragment];
}

const campaignOf = (url: string, name: string): string => partsOf(url)[1].get(name) ?? "";

/** The address with this parameter; an empty text removes it. */
function withCampaign(url: string, name: string, text: string): string {
  const [before, query, fragment] = partsOf(url);
  if (text) query.set(name, text);
  else query.delete(name);
  return `${before}${query.size ? `?${query.toString()}` : ""}${fragment}`;
}

/** An address that is typed as people say it begins with https. */
const withScheme = (text: string): string => (/^[a-z][a-z\d+.-]*:/i.test(text) ? text : `https://${text}`);

function sent(field: Field, text: string): string | null {
  if (!text) return null;
  if (DATES.includes(field)) return endOfDay(lastDayOf(text, timezone.value), timezone.value);
  return ADDRESSES.includes(field) ? withScheme(text) : text;
}
