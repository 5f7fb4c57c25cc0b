// Websites: add one, change it, put its script into the page, and see whether its first event has arrived.
import { useEffect, useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { loadSession, timezone, website } from "../../api/session";
import { useLoaded } from "../../api/use";
import { go } from "../../state/address";
import { formatInstant, formatNumber } from "../../state/format";
import { currentName, localZone, zoneNames } from "../../state/time_zones";
import { texts } from "../../texts";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Snippet } from "../request_dialog";
import { Async } from "../states";
import { DeletedWebsites } from "./deleted_websites";
import { FormDialog, type Input, splitLines } from "./form_dialog";
import { Trackers } from "./trackers";

type Website = Schemas["WebsiteResource"];
const t = texts.setup;
const WAITING_SECONDS = 2;

export function Websites() {
  const list = useLoaded("websites", (signal) => fetchJson<Schemas["WebsiteListResponse"]>("/v1/websites", { query: { limit: "100" }, signal }));
  const [edited, setEdited] = useState<Website | "new" | null>(null);
  const [changes, setChanges] = useState(0);
  const changed = async () => {
    await loadSession();
    list.reload();
    setChanges((count) => count + 1);
  };
  const done = async (website: Website | null) => {
    const created = edited === "new";
    setEdited(null);
    await changed();
    if (created && website) go({ base: website.id, filters: [] });
  };
  return (
    <>
      <Card title={t.websites} actions={<button type="button" class="button" onClick={() => setEdited("new")}>+ {t.addWebsite}</button>}>
        <Async loaded={list} empty={t.noWebsites} isEmpty={({ data }) => !data.length}>
          {({ data }) => (
            <DataTable label={t.websites} rows={data} rowKey={({ id }) => id} columns={[
              { key: "name", label: t.name, render: (one) => one.name || one.domain },
              { key: "domain", label: t.domain, render: (one) => one.domain },
              { key: "zone", extra: true, label: texts.period.timezone, render: (one) => one.timezone },
              { key: "id", extra: true, label: t.id, render: (one) => <code>{one.id}</code> },
              { key: "edit", label: "", render: (one) => (
                <button type="button" class="quiet-button" aria-label={t.editOne(one.name || one.domain)} onClick={() => setEdited(one)}>{t.edit}</button>) },
            ]} />
          )}
        </Async>
      </Card>
      {website.value && <Script key={website.value.id} id={website.value.id} name={website.value.name || website.value.domain} />}
      {website.value && <Trackers key={`trackers ${website.value.id}`} id={website.value.id} />}
      <DeletedWebsites changes={changes} restored={changed} />
      {edited && <WebsiteDialog website={edited === "new" ? null : edited} close={() => setEdited(null)} done={done} />}
    </>
  );
}

function WebsiteDialog({ website: one, close, done }: {
  website: Website | null;
  close: () => void;
  done: (changed: Website | null) => Promise<void>;
}) {
  const zone = currentName(one?.timezone ?? localZone());
  const inputs: Input[] = [
    { name: "domain", label: t.domain, value: one?.domain, required: true, placeholder: "shop.example" },
    { name: "name", label: t.nameOptional, value: one?.name },
    { name: "timezone", label: texts.period.timezone, value: zone, choices: zoneNames([zone]) },
    { name: "allowedOrigins", label: t.origins, value: one?.allowedOrigins.join("\n"), lines: true, placeholder: "https://shop.example" },
  ];
  const [asked, setAsked] = useState(false);
  const remove = async () => {
    await fetchJson(`/v1/websites/${one!.id}`, { method: "DELETE", query: { domain: one!.domain } });
    await done(null);
  };
  return (
    <>
      <FormDialog<Schemas["WebsiteResponse"]> title={one ? t.editOne(one.name || one.domain) : t.addWebsite} inputs={inputs} close={close}
        method={one ? "PATCH" : "POST"} path={one ? `/v1/websites/${one.id}` : "/v1/websites"}
        body={({ allowedOrigins, name, domain, timezone: chosen }) => ({
          domain: hostOf(domain ?? ""), timezone: chosen, ...(name || one ? { name } : {}), allowedOrigins: splitLines(allowedOrigins ?? ""),
        })}
        done={({ data }) => void done(data)}
        danger={one ? { label: t.deleteWebsite, run: async () => setAsked(true) } : undefined} />
      {asked && (
        <ConfirmDialog title={t.deleteWebsite} text={t.confirmDelete(one!.domain)} action={t.deleteWebsite} run={remove} close={() => setAsked(false)} />
      )}
    </>
  );
}

/** The host of a copied address; a domain stays as it is. */
const hostOf = (text: string): string => text.trim().replace(/^[a-z]+:\/\/([^/?#]+).*$/i, "$1").replace(/\/+$/, "");

/** The script of the website, and a check that looks again until its first event is there. */
function Script({ id, name }: { id: string; name: string }) {
  const snippet = useLoaded(id, (signal) => fetchJson<Schemas["SnippetResponse"]>(`/v1/websites/${id}/snippet`, { signal }));
  const [received, setReceived] = useState(false);
  const status = useLoaded(id, (signal) => fetchJson<Schemas["WebsiteStatusResponse"]>(`/v1/websites/${id}/status`, { signal }), received ? 5 * WAITING_SECONDS : WAITING_SECONDS);
  const arrived = status.value?.data.received ?? false;
  useEffect(() => setReceived(arrived), [arrived]);
  return (
    <Card title={t.script(name)}>
      <Async loaded={snippet} lines={2}>
        {({ data }) => <Snippet label={t.scriptHint} text={data.script} />}
      </Async>
      <Async loaded={status} lines={1}>
        {({ data }) => (
          <p class={`arrival ${data.received ? "received" : ""}`} role="status">
            {data.received
              ? t.received(data.events, formatNumber(data.events), formatInstant(data.lastEventAt, timezone.value, true))
              : t.waiting}
            {data.received && data.botEvents === data.events && ` ${t.ofBots}`}
          </p>
        )}
      </Async>
    </Card>
  );
}
