// The ledger: what became of the items that were accepted in the last seven days.
import { fetchJson } from "../../api/request";
import { subjectQuery, timezone } from "../../api/session";
import { useLoaded } from "../../api/use";
import { formatDays, formatNumber } from "../../state/format";
import { moreTexts } from "../../texts.more";
import { Card } from "../card";
import { DataTable } from "../data_table";
import { Async } from "../states";

const t = moreTexts.setup.ledger;
const PATH = "/v1/query/metrics";
const COUNTS = ["received", "stored", "duplicates", "quarantined", "dropped"] as const;
const [DAY, REASON] = ["time:day", "drop_reason"];
type Row = Record<string, number | string>;

export function Ledger() {
  const query = subjectQuery.value;
  const base = { preset: "last_7d", timezone: timezone.value };
  const byDay = { ...base, metrics: [...COUNTS], dimensions: [DAY] };
  const byReason = { ...base, metrics: ["dropped"], dimensions: [REASON] };
  const rows = async (body: object, signal: AbortSignal) => (await fetchJson<{ data: Row[] }>(PATH, { query, body, signal })).data;
  const loaded = useLoaded(JSON.stringify([query, byDay]), async (signal) => {
    const [days, total, reasons] = await Promise.all(
      [byDay, { ...byDay, dimensions: [] }, byReason].map((body) => rows(body, signal)));
    return { days: days!, total: total![0] ?? {}, reasons: reasons!.filter(({ dropped }) => dropped) };
  });
  return (
    <Card title={t.title} request={{ path: PATH, query, body: byDay, definition: t.definition }} definition={t.definition}>
      <Async loaded={loaded}>
        {({ days, total, reasons }) => (
          <>
            <DataTable label={t.title} rows={days} rowKey={(row) => String(row[DAY!])}
              totals={{ day: t.total, ...Object.fromEntries(COUNTS.map((name) => [name, formatNumber(Number(total[name] ?? 0))])) }}
              columns={[
                { key: "day", label: t.day, className: "nowrap", render: (row) => formatDays({ start: String(row[DAY!]), end: String(row[DAY!]) }, false) },
                ...COUNTS.map((name) => ({ key: name, label: t.counts[name], number: true, extra: name === "duplicates" || name === "dropped",
                  render: (row: Row) => formatNumber(Number(row[name])) })),
              ]} />
            {reasons.length > 0 && (
              <DataTable label={t.byReason} rows={reasons} rowKey={(row) => String(row[REASON!])} columns={[
                { key: "reason", label: t.byReason, className: "breakable", render: (row) => String(row[REASON!]) },
                { key: "dropped", label: moreTexts.setup.items, number: true, render: (row) => formatNumber(Number(row.dropped)) },
              ]} />
            )}
          </>
        )}
      </Async>
    </Card>
  );
}
