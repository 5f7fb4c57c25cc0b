// Shields: what the website does not count, how much each of them kept out, and links for one's own visits.
import { useState } from "preact/hooks";
import { fetchAll } from "../../api/pages";
import { fetchJson } from "../../api/request";
import { subjectQuery, timezone } from "../../api/session";
import { useLoaded } from "../../api/use";
import { formatNumber } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Icon } from "../icon";
import { Snippet } from "../request_dialog";
import { Async } from "../states";
import { FormDialog, type Input } from "./form_dialog";

type Shield = Schemas["ShieldResponse"]["data"];
type Counts = Record<string, number>;

const t = moreTexts.setup.shields;
const PATH = "/v1/shields";
const PERIODS = ["today", "last_7d", "last_30d"] as const;
const REASON = "drop_reason";

/** How many items were dropped in a period, by drop reason. */
async function droppedIn(preset: string, query: Record<string, string>, signal: AbortSignal): Promise<Counts> {
  const body = { preset, timezone: timezone.value, metrics: ["dropped"], dimensions: [REASON], limit: 1000 };
  const { data } = await fetchJson<{ data: Record<string, string | number>[] }>("/v1/query/metrics", { query, body, signal });
  return Object.fromEntries(data.map((row) => [String(row[REASON]), Number(row.dropped)]));
}

export function Shields() {
  const query = subjectQuery.value as Record<string, string>;
  const list = useLoaded(JSON.stringify(query), async (signal) => {
    const [shields, ...counts] = await Promise.all([fetchAll<Shield>(PATH, query, signal), ...PERIODS.map((preset) => droppedIn(preset, query, signal))]);
    return shields.map((shield) => ({ ...shield, counts: counts.map((of) => formatNumber(of[`shield ${shield.id}`] ?? 0)) }));
  });
  const [edited, setEdited] = useState<Shield | "new" | null>(null);
  const [asked, setAsked] = useState<Shield | null>(null);
  const done = () => {
    setEdited(null);
    list.reload();
  };
  const remove = async ({ id }: Shield) => {
    await fetchJson(`${PATH}/${id}`, { method: "DELETE" });
    done();
  };
  return (
    <>
      <Card title={t.title} actions={<button type="button" class="button" onClick={() => setEdited("new")}><Icon name="plus" />{t.add}</button>}>
        <p class="quiet card-text">{t.hint} {t.parameters}</p>
        <Async loaded={list} lines={2} empty={t.none} isEmpty={(all) => !all.length}>
          {(all) => (
            <DataTable label={t.title} rows={all} rowKey={({ id }) => id} columns={[
              { key: "name", label: moreTexts.setup.name, className: "breakable", render: ({ name }) => name },
              { key: "kind", extra: true, label: t.kind, render: ({ kind }) => t.kinds[kind] },
              { key: "value", label: t.value, className: "breakable", render: ({ value }) => <code>{value}</code> },
              { key: "counts", label: t.keptOut, render: ({ counts: [today, week, month] }) => t.counts(today!, week!, month!) },
              { key: "act", label: "", render: (one) => (
                <span class="row-actions">
                  <button type="button" class="quiet-button" aria-label={moreTexts.setup.editOne(one.name)} onClick={() => setEdited(one)}>{moreTexts.setup.edit}</button>
                  <button type="button" class="quiet-button" aria-label={t.removeOne(one.name)} onClick={() => setAsked(one)}>{t.remove}</button>
                </span>) },
            ]} />
          )}
        </Async>
      </Card>
      <Card title={t.ownVisits}>
        <p class="quiet card-text">{t.ownHint}</p>
        <Snippet label={t.off} text={'javascript:tidemark("optout")'} />
        <Snippet label={t.on} text={'javascript:tidemark("optin")'} />
      </Card>
      {edited && <ShieldDialog one={edited === "new" ? null : edited} close={() => setEdited(null)} done={done} />}
      {asked && <ConfirmDialog title={t.removeOne(asked.name)} text={t.confirm} action={t.remove} run={() => remove(asked)} close={() => setAsked(null)} />}
    </>
  );
}

function ShieldDialog({ one, close, done }: { one: Shield | null; close: () => void; done: () => void }) {
  const inputs: Input[] = [
    { name: "name", label: moreTexts.setup.name, value: one?.name, required: true },
    { name: "kind", label: t.kind, value: one?.kind ?? "address", choices: Object.entries(t.kinds).map(([value, label]) => ({ value, label })) },
    { name: "value", label: t.value, help: t.valueHelp, value: one?.value, required: true, placeholder: "203.0.113.0/24" },
  ];
  const path = one ? `${PATH}/${one.id}` : `${PATH}?website_id=${encodeURIComponent(subjectQuery.value.website_id!)}`;
  return <FormDialog title={one ? moreTexts.setup.editOne(one.name) : t.add} inputs={inputs} close={close} done={done} method={one ? "PATCH" : "POST"} path={path} body={(values) => values} />;
}
