// Totals that other products counted, beside the numbers of the website itself and marked as imported.
import type { Answer } from "../api/ask";
import { useAnswer } from "../api/use";
import { address } from "../state/address";
import type { Breakdown } from "../state/breakdowns";
import { formatNumber } from "../state/format";
import { texts } from "../texts";
import type { QueryType } from "../types";
import { BarList } from "./bar_list";
import type { Series } from "./series_chart";

const [BESIDE, CANNOT_ANSWER] = ["IMPORTED_TOTALS", "IMPORTED_TOTALS_CANNOT_ANSWER"];
const PERIODS: Record<string, string> = { daily: "day", weekly: "week", monthly: "month" };
/** The fields of imported totals, by those of `events_by_date`; they have no median. */
const FIELDS = {
  visitors: "daily_visitors", sessions: "sessions", pageviews: "pageviews",
  pages_per_session: "pages_per_session", bounce_rate: "bounce_rate", median_session_duration: null,
} as const;
const t = texts.imported;
type Known = Answer<QueryType> | null;

/** Whether imported totals lie in the time range of an answer, and query types have them. */
const areBeside = (answer: Known): boolean => Boolean(answer?.warnings.some(({ code }) => code === BESIDE));
/** Whether there are any, be they shown or not. */
export const areImported = (answer: Known): boolean =>
  Boolean(answer?.warnings.some(({ code }) => code === BESIDE || code === CANNOT_ANSWER));

/** What the whole website had on imported days, below its own totals. */
export function ImportedLine({ answer }: { answer: Known }) {
  const row = useAnswer(areBeside(answer) ? { name: "imported_totals" } : null).value?.rows[0];
  if (!row) return null;
  const counts = ([["daily_visitors", t.visitors], ["sessions", texts.metrics.visits], ["pageviews", texts.metrics.pageviews]] as const)
    .flatMap(([field, label]) => (row[field] === null ? [] : [`${label}: ${formatNumber(row[field])}`]));
  return <p class="imported-mark">{t.notInTotals(row.product, counts.join(", "))}</p>;
}

/** The values of imported days for a series of the website; null where there are none to draw, undefined until they are known. */
export function useImportedSeries(answer: Answer<"events_by_date"> | null, metric: keyof typeof FIELDS, granularity: string): Series["imported"] {
  const [period, field] = [PERIODS[granularity], FIELDS[metric]];
  const { value, loading } = useAnswer(period && field && areBeside(answer) ? { name: "imported_totals_by_date", options: { period } } : null);
  if (loading) return undefined;
  if (!value?.rows.length || !field) return null;
  const byDate = new Map(value.rows.map((row) => [row.date, row[field]]));
  const products = new Set(value.rows.flatMap(({ product }) => product.split(", ")));
  return { product: [...products].join(", "), values: answer!.rows.map(({ date }) => byDate.get(date) ?? null) };
}

/** Says why imported totals are not in what is shown. */
export function ImportedNote({ answer, shown }: { answer: Known; shown: boolean }) {
  if (shown || !areImported(answer)) return null;
  return <p class="imported-mark">{address.value.filters.length ? t.filtered : t.unanswered}</p>;
}

/** The rows of a breakdown on imported days, below its own. */
export function ImportedBars({ breakdown, answer, limit }: { breakdown: Breakdown; answer: Known; limit: number }) {
  const dimension = breakdown.searched.replace("visit.", "");
  const { value } = useAnswer(areBeside(answer) ? { name: "imported_totals", options: { dimension, limit } } : null);
  const { display = (name: string) => name } = breakdown;
  if (!value?.rows.length) return address.value.filters.length ? null : <ImportedNote answer={answer} shown={areBeside(answer)} />;
  const field = (["daily_visitors", "custom_events", "pageviews"] as const).find((each) => value.rows[0]![each] !== null) ?? "sessions";
  const label = { daily_visitors: t.visitors, custom_events: texts.metrics.events, pageviews: texts.metrics.pageviews, sessions: texts.metrics.visits }[field];
  const products = [...new Set(value.rows.map(({ product }) => product))].join(", ");
  return (
    <section class="imported" aria-label={t.from(products)}>
      <p class="imported-mark">{t.from(products)}</p>
      <BarList nameLabel={breakdown.label} valueLabel={label} bars={value.rows.map((row) => ({
        key: String(row.name), name: row.name === null ? t.unknown : display(row.name), value: row[field] ?? 0,
      }))} />
    </section>
  );
}
