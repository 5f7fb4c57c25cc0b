// Rows of a custom query as lines over time: one for each value and combination of the groups after the bucket.
import { cellText, valueText } from "./columns";
import { aliasOf, columnOf, DATE, type Exploration, TIME } from "./exploration";
import { addDays, bucketDays, type Days, firstOfBucket } from "./period";

type Row = Record<string, unknown>;

export type Values = (number | null)[];

export interface Line {
  name: string;
  /** A value for each label. */
  values: Values;
  /** How its values are written, where that differs between lines. */
  format?: (value: number) => string;
  /** Whether its scale is the one at the right. */
  isRight?: boolean;
}

/** Aggregates that are 0 in a bucket without rows. */
const COUNTS = ["count", "uniq", "sum"];
const NAME_SEPARATOR = " · ";
/** Granularities whose buckets begin with a day. */
const WHOLE_DAYS = ["daily", "weekly", "sunday_week", "monthly", "quarterly", "yearly"];

/** Whether the groups give lines: a bucket of time, then what tells lines apart. */
export function hasLines({ groups: [first, ...others] }: Exploration): boolean {
  const isBucket = (group: string) => group.startsWith(TIME) && columnOf(group) === DATE;
  return first !== undefined && isBucket(first) && !others.some(isBucket);
}

/** With groups the largest sum first, else in the order of the values. */
export function linesOf(rows: Row[], exploration: Exploration, labels: string[], zone: string): Line[] {
  const { selects, groups: [, ...others] } = exploration;
  const at = new Map(labels.map((label, i) => [label, i]));
  const lines = new Map<string, Line>();
  for (const row of rows) {
    const names = others.map((group) => cellText(group, row[columnOf(group)], zone));
    for (const select of selects) {
      const alias = aliasOf(select);
      const key = JSON.stringify([alias, ...others.map((group) => row[columnOf(group)])]);
      const name = [...names, ...(selects.length > 1 || !names.length ? [valueText(select)] : [])].join(NAME_SEPARATOR);
      const empty = COUNTS.includes(select.aggregate) ? 0 : null;
      const line = lines.get(key) ?? { name, values: labels.map(() => empty) };
      lines.set(key, line);
      line.values[at.get(String(row[DATE]))!] = row[alias] as number | null;
    }
  }
  const all = [...lines.values()];
  return others.length ? all.toSorted((a, b) => sumOf(b) - sumOf(a)) : all;
}

/** Beyond it the smaller of two lines on one scale is flat. */
const MOST_RATIO = 10;

/** Whether two lines need a scale each: the largest value of one is more than ten times that of the other. */
export function areApart(one: Values, other: Values): boolean {
  const [least, most] = [one, other].map((values) => Math.max(0, ...values.map((value) => Math.abs(value ?? 0)))).toSorted((a, b) => a - b) as [number, number];
  return least > 0 && most > MOST_RATIO * least;
}

const sumOf = ({ values }: Line): number => values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

/**
 * Labels of the buckets of whole days until `now` (a day), those without rows included; of shorter buckets
 * only those of the rows.
 */
export function labelsOf(rows: Row[], granularity: string, { start, end }: Days, now: string): string[] {
  const last = end < now ? end : now;
  const labels = new Set(rows.map((row) => String(row[DATE])));
  for (let day = firstOfBucket(start, granularity); WHOLE_DAYS.includes(granularity) && day <= last; day = next(day, granularity)) labels.add(day);
  return [...labels].toSorted();
}

const next = (day: string, granularity: string): string => addDays(bucketDays(day, granularity).end, 1);
