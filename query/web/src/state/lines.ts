// Rows of a custom query as lines over time: one for each combination of the groups after the bucket.
import { cellText, columnText } from "./columns";
import { aliasOf, columnOf, DATE, type Exploration, TIME } from "./exploration";
import { addDays, type Days } from "./period";

type Row = Record<string, unknown>;

export interface Line {
  name: string;
  /** A value for each label. */
  values: (number | null)[];
}

/** Aggregates of which a bucket without rows has 0. */
const COUNTS = ["count", "uniq", "sum"];
const NAME_SEPARATOR = " · ";

/** Whether the groups give lines: a bucket of time, then what tells lines apart. */
export function hasLines({ groups: [first, ...others] }: Exploration): boolean {
  const isBucket = (group: string) => group.startsWith(TIME) && columnOf(group) === DATE;
  return first !== undefined && isBucket(first) && !others.some(isBucket);
}

/** Lines of the first value, the largest sum first. */
export function linesOf(rows: Row[], exploration: Exploration, labels: string[], zone: string): Line[] {
  const [value] = exploration.selects;
  const others = exploration.groups.slice(1);
  const empty = COUNTS.includes(value!.aggregate) ? 0 : null;
  const at = new Map(labels.map((label, i) => [label, i]));
  const lines = new Map<string, Line>();
  for (const row of rows) {
    const key = JSON.stringify(others.map((group) => row[columnOf(group)]));
    const name = others.map((group) => cellText(group, row[columnOf(group)], zone)).join(NAME_SEPARATOR);
    const line = lines.get(key) ?? { name: name || columnText(exploration.groups[0]!), values: labels.map(() => empty) };
    lines.set(key, line);
    line.values[at.get(String(row[DATE]))!] = row[aliasOf(value!)] as number | null;
  }
  return [...lines.values()].toSorted((a, b) => sumOf(b) - sumOf(a));
}

const sumOf = ({ values }: Line): number => values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

/**
 * Labels of the buckets of days, weeks or months until `now` (a day), those without rows included; of shorter buckets
 * only those of the rows.
 */
export function labelsOf(rows: Row[], granularity: string, { start, end }: Days, now: string): string[] {
  const known = rows.map((row) => String(row[DATE]));
  const last = end < now ? end : now;
  const days: string[] = [];
  const from = granularity === "weekly" ? addDays(start, -((new Date(start).getUTCDay() + 6) % 7)) : granularity === "monthly" ? `${start.slice(0, 7)}-01` : start;
  const isDaily = granularity === "daily" || granularity === "weekly" || granularity === "monthly";
  for (let day = from; isDaily && day <= last; day = next(day, granularity)) days.push(day);
  return [...new Set([...days, ...known])].toSorted();
}

function next(day: string, granularity: string): string {
  if (granularity === "monthly") return `${addDays(`${day.slice(0, 7)}-28`, 4).slice(0, 7)}-01`;
  return addDays(day, granularity === "weekly" ? 7 : 1);
}
