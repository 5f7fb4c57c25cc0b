// How often each goal was reached in each part of the time range, for its small curve.
import { type MetricsRow, useMetrics } from "../api/metrics";
import { timezone } from "../api/session";
import { useAnswer } from "../api/use";
import { address } from "../state/address";
import { defaultGranularity } from "../state/period";
import type { Goal } from "./saved_goals";

const BUCKETS: Record<string, string> = { hourly: "time:hour", daily: "time:day", weekly: "time:week", monthly: "time:month" };

/** By the name of the goal; null until it is known. The last bucket may still grow. */
export function useGoalSeries(goals: Goal[]): { series: Map<string, number[]>; isRunning: boolean } | null {
  const granularity = defaultGranularity(address.value.period, timezone.value);
  const bucket = BUCKETS[granularity] ?? "time:day";
  // The buckets of the page, so that those without a conversion are zero.
  const { value: all } = useAnswer({ name: "events_by_date", options: { granularity }, compared: true });
  const { value: rows } = useMetrics(goals.length ? {
    metrics: goals.map((_, at) => ({ metric: "conversions", goal: `goal_${at}`, as: `count_${at}` })),
    goals: goals.map(({ event, path, filters }, at) => ({ ...(path ? { path } : { event }), ...(filters.length ? { filters } : {}), label: `goal_${at}` })),
    dimensions: [bucket],
    limit: 1000,
  } : null);
  if (!all || !rows) return null;
  const byBucket = new Map<unknown, MetricsRow>(rows.map((row) => [row[bucket], row]));
  const counts = (at: number) => all.rows.map(({ date }) => Number(byBucket.get(date)?.[`count_${at}`] ?? 0));
  return { series: new Map(goals.map(({ name }, at) => [name, counts(at)])), isRunning: all.partialBucket !== null };
}
