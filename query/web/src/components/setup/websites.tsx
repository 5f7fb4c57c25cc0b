// The websites of the organization: add one, change it, delete it.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { loadSession } from "../../api/session";
import { useLoaded } from "../../api/use";
import { go } from "../../state/address";
import { currentName, localZone, zoneNames } from "../../state/time_zones";
import { texts } from "../../texts";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { Copyable } from "../copy";
import { DataTable } from "../data_table";
import { Icon } from "../icon";
import { Async } from "../states";
import { DeletedWebsites } from "./deleted_websites";
import { FormDialog, type Input, splitLines } from "./form_dialog";

type Website = Schemas["WebsiteResource"];
const t = moreTexts.setup;

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
    if (created && website) go({ base: website.id, filters: [], own: { part: "tag" } }); // its script is the next step
  };
  return (
    <>
      <Card title={t.websites} actions={<button type="button" class="button" onClick={() => setEdited("new")}><Icon name="plus" />{t.addWebsite}</button>}>
        <Async loaded={list} empty={t.noWebsites} isEmpty={({ data }) => !data.length}>
          {({ data }) => (
            <DataTable label={t.websites} rows={data} rowKey={({ id }) => id} columns={[
              { key: "name", label: t.name, render: (one) => one.name || one.domain },
              { key: "domain", label: t.domain, render: (one) => one.domain },
              { key: "zone", extra: true, label: texts.period.timezone, render: (one) => one.timezone },
              { key: "id", extra: true, label: t.id, render: (one) => <Copyable text={one.id} /> },
              { key: "edit", label: "", render: (one) => (
                <button type="button" class="quiet-button" aria-label={t.editOne(one.name || one.domain)} onClick={() => setEdited(one)}>{t.edit}</button>) },
            ]} />
          )}
        </Async>
      </Card>
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
    { name: "name", label: t.name, help: t.optional, value: one?.name },
    { name: "timezone", label: texts.period.timezone, value: zone, choices: zoneNames([zone]) },
    { name: "allowedOrigins", label: t.origins, help: t.originsHelp, value: one?.allowedOrigins.join("\n"), lines: true, placeholder: "https://shop.example" },
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
