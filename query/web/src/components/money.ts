// Amounts of money: by currency, as amounts of different currencies are never added.
import { type MetricsRow, useMetrics } from "../api/metrics";
import { fetchAll } from "../api/pages";
import { hasRecords, subjectQuery } from "../api/session";
import { useLoaded } from "../api/use";
import { formatMoney, formatNumber } from "../state/format";
import type { Schemas } from "../types";
import type { Goal } from "./saved_goals";

export type Money = Schemas["MoneyPropertyResource"];

/** Where shops send the currency of an amount; a saved money property can name another property. */
const CURRENCY = "properties.currency";

/** The saved money properties of the website, if they are `needed`; null until they are known. */
export function useMoney(needed = true): Money[] | null {
  const query = subjectQuery.value;
  const has = needed && hasRecords();
  const { value, error } = useLoaded(has ? `money ${JSON.stringify(query)}` : null, (signal) =>
    fetchAll<Money>("/v1/money", query, signal));
  return !has || error ? [] : value;
}

export const moneyOf = (all: Money[], event: string | null, property: string | null): Money | undefined =>
  all.find((each) => each.event === event && each.property === property);

/** The value of a goal, in each currency that its conversions have, and of how many; null is without a currency. */
export type Amounts = [currency: string | null, value: number, conversions?: number][];

/** The values of goals that have one, by the name of the goal; null until they are known. */
export function useGoalValues(goals: Goal[]): Map<string, Amounts> | null {
  const money = useMoney();
  const valued = goals.filter(({ valueProperty }) => valueProperty);
  const saved = valued.map((goal) => moneyOf(money ?? [], goal.event, goal.valueProperty));
  const dimension = saved.find((each) => each?.currencyProperty)?.currencyProperty ?? CURRENCY;
  // Spelled out: one that was just deleted would be unknown.
  const asked = valued.map(({ event, path, filters, valueProperty }, at) => (
    { ...(path ? { path } : { event }), ...(filters.length ? { filters } : {}), value: valueProperty, label: `goal_${at}` }));
  const metrics = valued.flatMap((_, at) => [
    { metric: "conversion_value", goal: `goal_${at}`, as: `value_${at}` },
    { metric: "conversions", goal: `goal_${at}`, as: `count_${at}` },
  ]);
  const { value: rows } = useMetrics(money && valued.length ? { metrics, goals: asked, dimensions: [dimension] } : null);
  if (!valued.length) return new Map();
  return rows && new Map(valued.map(({ name }, at) => {
    const fixed = saved[at]?.currency;
    return [name, amountsOf(rows, at, fixed ? () => fixed : (row) => row[dimension] as string | null)];
  }));
}

/** Of the conversions of one goal; rows of one currency are one amount. */
function amountsOf(rows: MetricsRow[], at: number, currencyOf: (row: MetricsRow) => string | null): Amounts {
  const amounts = new Map<string | null, [value: number, conversions: number]>();
  for (const row of rows.filter((each) => each[`count_${at}`])) {
    const currency = currencyOf(row);
    const [value, conversions] = amounts.get(currency) ?? [0, 0];
    amounts.set(currency, [value + Number(row[`value_${at}`]), conversions + Number(row[`count_${at}`])]);
  }
  return [...amounts].map(([currency, [value, conversions]]) => [currency, value, conversions]);
}

/** The property that is summed, where two are of one event, whose orders would count twice: the first. */
export function summedMoney(all: Money[]): string | undefined {
  const events = new Set(all.map(({ event }) => event));
  return events.size < all.length ? all[0]!.id : undefined;
}

/** By the names of rows. */
export interface Revenue {
  amounts: Map<string, Amounts>;
  isKnown: boolean;
}

/** The revenue of rows by a dimension that names them, such as visits or events; null where no property is money. */
export function useRevenueBy(dimension: string, names: string[]): Revenue | null {
  const money = useMoney();
  const { value: rows, error } = useMetrics(money?.length && names.length ? {
    metrics: [{ metric: "revenue", as: "revenue", money: summedMoney(money) }], dimensions: [dimension, "currency"], filters: [{ field: dimension, operator: "in", value: names }] as Schemas["Filter"][],
  } : null);
  if (!money?.length) return null;
  const amounts = new Map<string, Amounts>();
  for (const row of rows ?? []) {
    const name = String(row[dimension]);
    if (row.revenue) amounts.set(name, [...(amounts.get(name) ?? []), [row.currency as string | null, Number(row.revenue)]]);
  }
  return { amounts, isKnown: rows !== null || error !== null };
}

export const amountsText = (amounts: Amounts): string =>
  amounts.map(([currency, value]) => formatMoney(currency, value)).join(" · ") || formatNumber(0);
/** Of a conversion, in each currency. */
export const averagesText = (amounts: Amounts): string =>
  amounts.map(([currency, value, conversions = 1]) => formatMoney(currency, value / conversions)).join(" · ");
