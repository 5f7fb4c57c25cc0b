// The first day with data of the open website, from which on all time is shown.
import { useLayoutEffect } from "preact/hooks";
import { address } from "../state/address";
import { bucketDays, firstDay, longestDays } from "../state/period";
import { answer } from "./ask";
import { isShared, subjectQuery, timezone } from "./session";
import { useLoaded } from "./use";

/** Whether the days of the page's time range are known: those of all time are asked for. */
export function useKnownDays(): boolean {
  const needed = address.value.period === "all";
  const key = needed ? JSON.stringify([subjectQuery.value, timezone.value]) : null;
  const { value, error } = useLoaded(key, firstDayWithData);
  useLayoutEffect(() => {
    firstDay.value = value;
  }, [value]);
  return !needed || error !== null || (value !== null && firstDay.value === value);
}

/** The first month with data of the longest time range, then its first day: two answers of few rows. */
async function firstDayWithData(signal: AbortSignal): Promise<string> {
  const { start, end } = longestDays(timezone.value);
  const options = { start_date: start, end_date: end, granularity: "monthly" };
  const [months, imported] = await Promise.all([
    answer({ name: "events_by_date", fixed: true, options }, signal),
    isShared() ? null : answer({ name: "imported_totals_by_date", fixed: true, options: { start_date: start, end_date: end, limit: 1 } }, signal),
  ]);
  const month = months.rows.find(({ visitors }) => visitors > 0)?.date;
  const first = month === undefined ? end : await firstOfMonth(month, { start, end }, signal);
  return [first, ...(imported?.rows ?? []).map(({ date }) => date)].sort()[0]!;
}

async function firstOfMonth(month: string, { start, end }: { start: string; end: string }, signal: AbortSignal): Promise<string> {
  const days = bucketDays(month, "monthly");
  const { rows } = await answer({
    name: "events_by_date", fixed: true,
    options: { start_date: days.start < start ? start : days.start, end_date: days.end > end ? end : days.end, granularity: "daily" },
  }, signal);
  return rows.find(({ visitors }) => visitors > 0)?.date ?? month;
}
