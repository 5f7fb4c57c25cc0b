// Revenue, orders and their mean: of a website with saved money properties, each currency by itself.
import { useMemo } from "preact/hooks";
import { comparedFrom, type ComparedData } from "../api/compared";
import { type MetricsAsk, metricsRequest, type MetricsRow, useMetricsAnswer } from "../api/metrics";
import { hasRecords } from "../api/session";
import { useAnswer } from "../api/use";
import { address, comparison, goOwn } from "../state/address";
import { formatMoney, formatNumber, formatShort } from "../state/format";
import { hadAny } from "./had";
import { texts } from "../texts";
import { CardMenu } from "./card";
import { Change } from "./change";
import { type Money, summedMoney, useMoney } from "./money";
import { type Series, SeriesChart } from "./series_chart";
import { Async } from "./states";
import { shownGranularity } from "./time_series";

const t = texts.revenue;
const METRICS = ["revenue", "orders", "average_order_value"] as const;
export type RevenueMetric = (typeof METRICS)[number];
/** Whether the parameter `metric` of the overview is one of money. */
export const isRevenueMetric = (metric: string | undefined): metric is RevenueMetric => METRICS.some((each) => each === metric);

/** The metrics under their names. */
export function revenueTerms(money: Money[], metrics: readonly RevenueMetric[], currency?: string, name?: string): MetricsAsk["metrics"] {
  const summed = summedMoney(money);
  return metrics.map((metric) => ({
    metric, as: name ?? metric, ...(summed ? { money: summed } : {}), ...(currency ? { currency } : {}),
  }));
}

/** What the orders of the time range are paid in, the most frequent first, and the one that is shown. */
export interface Revenue {
  money: Money[];
  ask: MetricsAsk;
  rows: MetricsRow[];
  /** Whether the rows are: until then there are none. */
  isKnown: boolean;
  currencies: string[];
  currency: string | null;
  /** Position of the row of the currency; -1 where it has no order. */
  at: number;
  changes: Record<string, number | null> | undefined;
  previous: Record<string, unknown> | null | undefined;
}

/** Null without a saved money property and on shared dashboards; nothing is asked unless it is `needed`. */
export function useRevenue(needed = true): Revenue | null {
  const saved = useMoney(needed);
  const money = saved ?? [];
  const ask: MetricsAsk = { metrics: revenueTerms(money, METRICS), dimensions: ["currency"], compared: true, orderBy: [{ field: "orders", direction: "desc" }] };
  const { value } = useMetricsAnswer(money.length ? ask : null);
  if (!needed || !hasRecords() || !hadAny("money", saved)) return null;
  const rows = value?.rows ?? [];
  const paid = rows.filter(({ currency, orders }) => currency && orders).map(({ currency }) => String(currency));
  const currencies = paid.length ? paid : money.flatMap(({ currency }) => (currency ? [currency] : [])).slice(0, 1);
  const currency = currencies.find((each) => each === address.value.own.currency) ?? currencies[0] ?? null;
  const at = rows.findIndex((row) => row.currency === currency && row.orders);
  const compared = value?.comparison?.rows[at];
  return {
    money, ask, rows, isKnown: value !== null, currencies, currency, at,
    changes: value?.comparison ? compared?.changePercent ?? {} : undefined, previous: compared?.previous,
  };
}

const formatOf = (metric: RevenueMetric, currency: string | null, short = false) => (value: number): string =>
  (metric === "orders" ? (short ? formatShort : formatNumber)(value) : formatMoney(currency, value, short));

/** The totals of money, to be chosen for the chart. */
export function RevenueTotals({ revenue, before }: { revenue: Revenue; before: ComparedData | null }) {
  const { rows, isKnown, currencies, currency, at, changes, previous, ask } = revenue;
  const without = Number(rows.find((row) => row.currency === null)?.orders ?? 0);
  return (
    <section class="revenue" aria-label={t.title} aria-busy={!isKnown}>
      <div class="totals of-revenue">
        {METRICS.map((metric) => {
          const value = at < 0 ? (metric === "average_order_value" ? null : 0) : rows[at]![metric] as number | null;
          const was = previous?.[metric];
          const isChosen = address.value.own.metric === metric;
          return (
            <div key={metric} class={`total ${isChosen ? "chosen" : ""}`}>
              <button type="button" aria-pressed={isChosen} onClick={() => goOwn({ metric: isChosen ? "" : metric })}>
                <span class="total-label">{t.metrics[metric]}</span>
                <span class="total-value" title={value === null ? undefined : formatOf(metric, currency)(value)}>
                  {!isKnown ? " " : value === null ? "–" : formatOf(metric, currency, true)(value)}
                </span>
                {changes && <Change percent={changes[metric]} before={before} was={typeof was === "number" ? formatOf(metric, currency, true)(was) : undefined} />}
              </button>
            </div>
          );
        })}
      </div>
      <div class="card-actions">
        {currencies.length > 1 && (
          <div class="segmented" role="group" aria-label={t.currency}>
            {currencies.map((each, i) => (
              <button key={each} type="button" aria-pressed={each === currency} onClick={() => goOwn({ currency: i ? each : "" })}>{each}</button>
            ))}
          </div>
        )}
        <CardMenu title={t.title} definition={{ metrics: METRICS.map((metric) => [t.metrics[metric], metric]) }}
          requests={[{ label: texts.request.open, request: { ...metricsRequest(ask),
            answer: { fields: METRICS.map((metric) => ({ label: t.metrics[metric], field: metric })), rows: "data[]" } } }]} />
      </div>
      {without > 0 && <p class="quiet">{t.without(without, formatNumber(without))}</p>}
    </section>
  );
}

/** The chart of one of the totals, in place of that of visitors. */
export function RevenueSeries({ revenue: { money, currency, isKnown }, metric }: { revenue: Revenue; metric: RevenueMetric }) {
  const by = shownGranularity();
  const time = `time:${by}`;
  const ask: MetricsAsk = { metrics: revenueTerms(money, [metric], currency ?? undefined), dimensions: [time], compared: true };
  const loaded = useMetricsAnswer(isKnown ? ask : null);
  const all = useAnswer(comparison.value === "none" ? null : { name: "events_by_date", options: { granularity: by }, compared: true });
  const from = comparedFrom(all.value, by);
  const { value } = loaded;
  const series = useMemo<Series | null>(() => value && {
    labels: value.rows.map((row) => String(row[time])),
    values: value.rows.map((row) => row[metric] as number | null),
    previous: value.comparison?.rows.map(({ previous }, i) => (i < from ? null : (previous?.[metric] as number | undefined) ?? null)),
    previousLabels: value.comparison?.rows.map(({ previous }) => (previous?.[time] as string | undefined) ?? ""),
    partial: value.partialBucket ?? null,
    granularity: by, name: t.metrics[metric], format: formatOf(metric, currency),
    previousFrom: from ? (value.comparison?.rows[from]?.previous?.[time] as string | undefined) : null,
  }, [value, metric, currency, from]);
  return <div class="series-frame"><Async loaded={loaded} lines={7}>{() => <SeriesChart series={series!} />}</Async></div>;
}
