// Links that show this dashboard to others.
import { useState } from "preact/hooks";
import { fetchJson } from "../api/request";
import { subjectQuery, timezone } from "../api/session";
import { useLoaded } from "../api/use";
import { Card } from "../components/card";
import { ConfirmDialog } from "../components/confirm_dialog";
import { DataTable } from "../components/data_table";
import { DateField } from "../components/date_field";
import { endDay } from "../components/end_day";
import { filterText } from "../components/filter_text";
import { formMessage } from "../components/form_message";
import { Snippet } from "../components/request_dialog";
import { Async } from "../components/states";
import { address, formatAddress, parseAddress } from "../state/address";
import { formatInstant } from "../state/format";
import { locale } from "../state/language";
import { endOfDay, today } from "../state/period";
import { VIEWS } from "../state/views";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";

type Share = Schemas["ShareResource"];
const t = moreTexts.shares;

export default function Shares() {
  const query = subjectQuery.value;
  const list = useLoaded(JSON.stringify(query), (signal) =>
    fetchJson<Schemas["ShareListResponse"]>("/v1/shares", { query: { ...query, limit: "100" }, signal }));
  const [asked, setAsked] = useState<Share | null>(null);
  const [revoked, setRevoked] = useState(0); // a link that was just made may be the one
  const revoke = async (share: Share) => {
    await fetchJson(`/v1/shares/${share.id}`, { method: "DELETE" });
    setRevoked((n) => n + 1);
    list.reload();
  };
  return (
    <>
      <NewShare key={revoked} created={list.reload} />
      <Card title={t.title}>
        <Async loaded={list} lines={3} empty={t.none} isEmpty={({ data }) => !data.length}>
          {({ data }) => <ShareTable shares={data} revoke={setAsked} />}
        </Async>
      </Card>
      {asked && (
        <ConfirmDialog title={t.revoke(asked.name)} text={t.confirmRevoke(asked.name)} action={t.revokeShort}
          run={() => revoke(asked)} close={() => setAsked(null)} />
      )}
    </>
  );
}

function ShareTable({ shares, revoke }: { shares: Share[]; revoke: (share: Share) => void }) {
  return (
    <DataTable label={t.title} rows={shares} rowKey={(share) => share.id} columns={[
      { key: "name", label: t.columns.name, render: (share) => <>{share.name}{hasEnded(share) && <> <strong class="ended">{t.ended}</strong></>}</> },
      { key: "filters", extra: "wide", className: "long", label: t.columns.filters, render: ({ filters }) => filters.map(filterText).join(", ") || t.all },
      { key: "password", extra: true, label: t.columns.password, render: ({ password }) => (password ? t.yes : t.no) },
      { key: "expires", label: t.columns.expires, render: ({ expires }) => (expires ? endDay(expires) : t.never) },
      { key: "frames", extra: "wide", className: "long", label: t.columns.frames, render: ({ frameOrigins }) => frameOrigins.join(", ") || "–" },
      { key: "created", extra: "wide", label: t.columns.created, render: ({ createdAt }) => formatInstant(createdAt, timezone.value) },
      {
        key: "end", label: "", render: (share) => (
          <button type="button" class="button danger" aria-label={t.revoke(share.name)} onClick={() => revoke(share)}>{t.revokeShort}</button>
        ),
      },
    ]} />
  );
}

const hasEnded = ({ expires }: Share): boolean => expires !== null && Date.parse(expires) <= Date.now();

const LABELS = { name: t.name, password: t.password, expires: t.expires, frameOrigins: t.frames };
const EMPTY = { name: "", password: "", lastDay: "", origins: "" };

function NewShare({ created }: { created: () => void }) {
  const [form, setForm] = useState(EMPTY);
  const [made, setMade] = useState<{ path: string; framed: boolean } | null>(null);
  const [error, setError] = useState("");
  const { filters } = address.value;
  const set = (part: Partial<typeof EMPTY>) => setForm((old) => ({ ...old, ...part }));
  const submit = async (event: Event) => {
    event.preventDefault();
    setError("");
    try {
      const response = await fetchJson<Schemas["ShareResponse"]>("/v1/shares", {
        query: subjectQuery.value, body: bodyOf(form, filters as Schemas["Filter"][]),
      });
      setMade({ path: (response.data.path ?? "") + rangeOf(), framed: response.data.frameOrigins.length > 0 });
      setForm(EMPTY);
      created();
    } catch (problem) {
      setError(formMessage(problem, LABELS));
    }
  };
  return (
    <Card title={t.create} className="share-new">
      <p class="quiet card-text">{t.intro} {sharedViews()}.</p>
      <p class="quiet">{filters.length ? `${t.filters} ${filters.map(filterText).join(", ")}` : t.noFilters}</p>
      {filters.length > 0 && <p class="notice">{t.notHidden}</p>}
      <form class="form grid" onSubmit={submit}>
        <label>{t.name}
          <input name="name" required maxLength={255} placeholder={t.namePlaceholder} value={form.name} onInput={(e) => set({ name: e.currentTarget.value })} />
        </label>
        <label>{t.password}
          <input name="password" type="password" autocomplete="new-password" minLength={8} value={form.password} onInput={(e) => set({ password: e.currentTarget.value })} />
          <small>{t.passwordHelp}</small>
        </label>
        <label>{t.expires}
          <DateField name="expires" placeholder={t.noEnd} min={today(timezone.value)} value={form.lastDay} change={(lastDay) => set({ lastDay })} />
          <small>{t.expiresHelp}</small>
        </label>
        <label>{t.frames}
          <textarea name="origins" rows={2} value={form.origins} onInput={(e) => set({ origins: e.currentTarget.value })} />
          <small>{t.framesHelp}</small>
        </label>
        {error && <p class="error" role="alert">{error}</p>}
        <footer><button type="submit" class="button primary">{t.create}</button></footer>
      </form>
      {made && <NewLink url={location.origin + made.path} framed={made.framed} />}
    </Card>
  );
}

const sharedViews = (): string =>
  new Intl.ListFormat(locale).format(VIEWS.filter((view) => view.shared && !view.hidden).map(({ label }) => label));

/** The time range that is chosen here, as the link has it. */
const rangeOf = (): string => {
  const { period, timezone: zone } = address.value;
  return new URL(formatAddress({ ...parseAddress("/", ""), base: "x", period, timezone: zone }), location.origin).search;
};

function bodyOf({ name, password, lastDay, origins }: typeof EMPTY, filters: Schemas["Filter"][]): Schemas["NewShare"] {
  const frames = origins.split("\n").map((each) => each.trim()).filter(Boolean);
  return {
    name,
    filters,
    ...(password ? { password } : {}),
    ...(lastDay ? { expires: endOfDay(lastDay, timezone.value)! } : {}),
    ...(frames.length ? { frameOrigins: frames } : {}),
  };
}

/** `framed`: whether a website may embed it. */
function NewLink({ url, framed }: { url: string; framed: boolean }) {
  const frame = `<iframe src="${url}" width="100%" height="1200" title="Analytics" loading="lazy"></iframe>`;
  return (
    <div class="new-link" role="status">
      <p class="notice">{t.ready}</p>
      <Snippet label={t.link} text={url} />
      {framed ? <Snippet label={t.embed} text={frame} /> : <p class="quiet">{t.notEmbedded}</p>}
    </div>
  );
}
