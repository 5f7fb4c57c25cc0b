// What the time range that the page compares with holds: without data a change says nothing, in any view.
import { address, comparison } from "../state/address";
import { defaultGranularity } from "../state/period";
import type { Answer } from "./ask";
import { timezone } from "./session";
import { useAnswer } from "./use";

export type ComparedData = "none" | "little" | "enough";

/** Empty buckets at the begin that say that data begins later; hours are empty at night, and on a quiet day. */
const LEAST_EMPTY = 3;
const LEAST_EMPTY_OF: Record<string, number> = { quarter_hour: 192, hourly: 48 };

/** By the series of the page; null until that is known. */
export function comparedData(series: Answer<"events_by_date"> | null, granularity: string): ComparedData | null {
  if (!series?.comparison) return null;
  const rows = series.comparison.rows;
  const first = rows.findIndex(({ previous }) => Number(previous?.visitors ?? 0) > 0);
  if (first < 0) return "none";
  const least = LEAST_EMPTY_OF[granularity] ?? LEAST_EMPTY;
  return first >= least && first >= rows.length / 2 ? "little" : "enough";
}

/**
 * Position of the first bucket with data in the compared time range, where that is later than its begin; else 0. The number
 * of buckets where none has data.
 */
export function comparedFrom(series: Answer<"events_by_date"> | null, granularity: string): number {
  const rows = series?.comparison?.rows ?? [];
  const first = rows.findIndex(({ previous }) => Number(previous?.visitors ?? 0) > 0);
  if (first < 0) return rows.length;
  return first >= (LEAST_EMPTY_OF[granularity] ?? LEAST_EMPTY) ? first : 0;
}

/** The same for a view that has no such series; a failure hides no change. */
export function useComparedData(): ComparedData | null {
  const granularity = defaultGranularity(address.value.period, timezone.value);
  const compares = comparison.value !== "none";
  const { value, error } = useAnswer(compares ? { name: "events_by_date", options: { granularity }, compared: true } : null);
  return error ? "enough" : comparedData(value, granularity);
}
