// The totals of the time range and the series of one of them, as the overview begins with them.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Answer, Ask } from "../api/ask";
import { type ComparedData, comparedData, comparedFrom } from "../api/compared";
import { timezone } from "../api/session";
import { type Loaded, useAnswer } from "../api/use";
import { address, go, goOwn } from "../state/address";
import { formatDuration, formatNumber, formatPercent, formatShort } from "../state/format";
import { defaultGranularity, type Granularity, granularitiesOf } from "../state/period";
import { texts } from "../texts";
import { Card, standardRequest } from "./card";
import { Change } from "./change";
import { ImportedLine, ImportedNote, useImportedSeries } from "./imported";
import { isRevenueMetric, RevenueSeries, RevenueTotals, useRevenue } from "./revenue";
import { comparedSeries, countFormat, type Series, SeriesChart } from "./series_chart";
import { Async } from "./states";

interface Total {
  /** Field of `events_by_date`. */
  id: "visitors" | "sessions" | "pageviews" | "pages_per_session" | "bounce_rate" | "median_session_duration";
  label: string;
  /** Field of `summary_metrics`, where it has another name. */
  summary?: string;
  definition: "visitors" | "visits" | "page_views" | "views_per_visit" | "bounce_rate" | "median_visit_duration";
  format: (value: number) => string;
  short?: (value: number) => string;
  lessIsBetter?: boolean;
  /** Whether it is a percentage, whose change is given in points. */
  points?: boolean;
}

const m = texts.metrics;
const TOTALS: Total[] = [
  { id: "visitors", label: m.unique_visitors, summary: "unique_visitors", definition: "visitors", format: formatNumber, short: formatShort },
  { id: "sessions", label: m.sessions, definition: "visits", format: formatNumber, short: formatShort },
  { id: "pageviews", label: m.pageviews, definition: "page_views", format: formatNumber, short: formatShort },
  { id: "pages_per_session", label: m.pages_per_session, definition: "views_per_visit", format: formatNumber },
  { id: "bounce_rate", label: m.bounce_rate, definition: "bounce_rate", format: (v) => formatPercent(v), lessIsBetter: true, points: true },
  { id: "median_session_duration", label: m.median_session_duration, definition: "median_visit_duration", format: formatDuration },
];

/** The series of the totals, by the interval of the page. */
export function useTotalSeries(): { ask: Ask<"events_by_date">; loaded: Loaded<Answer<"events_by_date">>; by: Granularity } {
  const { period, granularity } = address.value;
  const by = granularity ?? defaultGranularity(period, timezone.value);
  const ask: Ask<"events_by_date"> = { name: "events_by_date", options: { granularity: by }, compared: true };
  return { ask, loaded: useAnswer(ask), by };
}

export function TotalsCard({ title = texts.views.overview, subtitle, series: { ask, loaded, by } }: {
  title?: string;
  subtitle?: ComponentChildren;
  series: ReturnType<typeof useTotalSeries>;
}) {
  const { period, own } = address.value;
  const revenue = useRevenue();
  const money = revenue && isRevenueMetric(own.metric) ? own.metric : null;
  const chosen = TOTALS.find(({ id }) => id === own.metric) ?? TOTALS[0]!;
  const before = loaded.error ? "enough" : comparedData(loaded.value, by);
  return (
    <Card title={title} ask={ask} definition={{ metric: chosen.definition }} className="hero"
      subtitle={subtitle}
      fields={[{ label: texts.chart.bucket, field: "date" }, { label: chosen.label, field: chosen.id }]}
      requests={[{ label: texts.card.totalsRequest, request: standardRequest(TOTALS_ASK, TOTALS.map((total) => ({ label: total.label, field: fieldOf(total) })), undefined, 0) }]}
      tabs={granularitiesOf(period, timezone.value).map((id) => ({ id, label: texts.period.granularities[id]! }))}
      tab={by} onTab={(id) => go({ granularity: id as Granularity })}>
      <Totals chosen={money ? null : chosen} before={before} />
      {revenue && <RevenueTotals revenue={revenue} before={before} />}
      <ImportedLine answer={loaded.value} />
      {revenue && money ? <RevenueSeries revenue={revenue} metric={money} /> : <TotalSeries total={chosen} loaded={loaded} granularity={by} />}
    </Card>
  );
}

const TOTALS_ASK: Ask<"summary_metrics"> = { name: "summary_metrics", compared: true };
const fieldOf = ({ id, summary = id }: Total): string => summary;

function Totals({ chosen, before }: { chosen: Total | null; before: ComparedData | null }) {
  const loaded = useAnswer(TOTALS_ASK);
  const row = loaded.value?.rows[0] as unknown as Record<string, number> | undefined;
  const comparison = loaded.value?.comparison;
  const compared = comparison?.rows[0];
  return (
    <>
      <section class="totals" aria-label={texts.views.overview} aria-busy={loaded.loading}>
        {loaded.error && <Async loaded={loaded}>{() => null}</Async>}
        {!loaded.error && TOTALS.map((total) => (
          <div key={total.id} class={`total ${total === chosen ? "chosen" : ""}`}>
            <button type="button" aria-pressed={total === chosen} onClick={() => goOwn({ metric: total.id === "visitors" ? "" : total.id })}>
              <span class="total-label">{total.label}</span>
              <span class="total-value" title={row && total.format(row[fieldOf(total)]!)}>
                {row ? (total.short ?? total.format)(row[fieldOf(total)]!) : " "}
              </span>
              {compared && row && <Change percent={(total.points ? compared.change : compared.changePercent)[fieldOf(total)]} points={total.points}
                before={before} lessIsBetter={total.lessIsBetter}
                was={compared.previous ? (total.short ?? total.format)(compared.previous[fieldOf(total)] as number) : undefined} />}
            </button>
          </div>
        ))}
      </section>
    </>
  );
}

function TotalSeries({ total, loaded, granularity }: {
  total: Total;
  loaded: Loaded<Answer<"events_by_date">>;
  granularity: string;
}) {
  const { value } = loaded;
  /** Before it there was no data that the line could show. */
  const first = comparedFrom(value, granularity);
  const imported = useImportedSeries(value, total.id, granularity);
  const importedKey = JSON.stringify(imported);
  const series = useMemo<Series | null>(() => value && {
    labels: value.rows.map((row) => row.date),
    values: value.rows.map((row, i) => row[total.id] || (typeof imported?.values[i] === "number" ? null : row[total.id])),
    imported,
    ...comparedSeries(value.comparison, total.id, first, total.points),
    partial: value.partialBucket,
    granularity,
    name: total.label,
    format: total.id === "visitors" || total.id === "sessions" || total.id === "pageviews" ? countFormat : total.format,
    annotations: value.annotations,
  }, [value, total, granularity, first, importedKey]);
  return <div class="series-frame"><Async loaded={loaded} lines={7}>{() => <SeriesChart series={series!} />}</Async><ImportedNote answer={value} shown={imported !== null} /></div>;
}
