// Where the account is signed in; each can be ended.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { useLoaded } from "../../api/use";
import { formatInstant } from "../../state/format";
import { localZone } from "../../state/time_zones";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Async } from "../states";

type Session = Schemas["SessionResource"];
const t = moreTexts.account.sessions;
const PATH = "/v1/account/sessions";
const at = (instant: string): string => formatInstant(instant, localZone());

export function Sessions() {
  const list = useLoaded("sessions", async (signal) => (await fetchJson<Schemas["SessionsResponse"]>(PATH, { signal })).data);
  const [asked, setAsked] = useState<Session | "others" | null>(null);
  const end = async () => {
    await fetchJson(asked === "others" ? PATH : `${PATH}/${asked!.id}`, { method: "DELETE" });
    list.reload();
  };
  const others = list.value?.some(({ current }) => !current);
  return (
    <Card title={t.title} actions={others && <button type="button" class="button" onClick={() => setAsked("others")}>{t.endOthers}</button>}>
      <Async loaded={list} lines={3}>
        {(all) => (
          <DataTable label={t.title} rows={all} rowKey={({ id }) => id} columns={[
            { key: "browser", label: t.browser, render: (one) => <>{one.browser || "–"} {one.current && <strong class="tag nowrap">{t.current}</strong>}</> },
            { key: "network", extra: true, label: t.network, className: "nowrap", render: ({ network }) => network || "–" },
            { key: "way", extra: true, label: t.way, render: ({ way }) => t.ways[way] ?? way },
            { key: "created", extra: true, className: "nowrap", label: t.created, render: ({ createdAt }) => at(createdAt) },
            { key: "seen", className: "nowrap", label: t.seen, render: ({ lastSeenAt }) => at(lastSeenAt) },
            { key: "end", label: "", render: (one) => !one.current && (
              <button type="button" class="quiet-button" aria-label={t.endOne(one.browser)} onClick={() => setAsked(one)}>{t.end}</button>) },
          ]} />
        )}
      </Async>
      {asked && (
        <ConfirmDialog title={asked === "others" ? t.endOthers : t.endOne(asked.browser)} text={t.confirm} action={t.end} run={end} close={() => setAsked(null)} />
      )}
    </Card>
  );
}
