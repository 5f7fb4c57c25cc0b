// The time range of the page: a preset, or days. Dates are texts `YYYY-MM-DD`.
import { signal } from "@preact/signals";

export const PRESETS = [
  "today", "yesterday", "last_24h", "last_7d", "last_28d", "last_30d", "last_90d", "last_12m",
  "this_week", "last_week", "this_month", "last_month", "this_quarter", "last_quarter", "this_year", "last_year", "all",
] as const;
export type Preset = (typeof PRESETS)[number];

/** Those that the API does not know by name: it gets their dates. */
const OF_PAGE: readonly string[] = ["last_24h", "last_28d", "last_12m", "all"] satisfies Preset[];
/** Letters that choose a preset. */
export const PRESET_KEYS: Partial<Record<Preset, string>> = {
  today: "d", last_24h: "h", last_7d: "w", last_28d: "f", last_30d: "m", last_90d: "n", last_12m: "t",
  this_quarter: "q", this_year: "y", all: "a",
};

export interface Days {
  start: string;
  end: string;
}
export type Period = Preset | Days;

export const DEFAULT_PERIOD: Period = "last_7d";
/** Presets of the calendar that follow each other. */
const FOLLOWING: readonly [Preset, Preset][] = [
  ["yesterday", "today"], ["last_week", "this_week"], ["last_month", "this_month"], ["last_quarter", "this_quarter"],
  ["last_year", "this_year"], ["yesterday", "last_24h"],
];
const DAY = 86_400_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
export const FIRST_DAY = "1970-01-01";
const LAST_DAY = "2999-12-31";

/** null when the text is neither a preset nor two days. */
export const parsePeriod = (text: string): Period | null =>
  PRESETS.includes(text as Preset) ? (text as Preset) : parseDays(text);

/** First and last day as `formatPeriod` writes them; null when they are none. */
export function parseDays(text: string): Days | null {
  const [start = "", end = "", more] = text.split("..");
  return more === undefined && isDate(start) && isDate(end) && start <= end ? { start, end } : null;
}

export const formatPeriod = (period: Period): string =>
  typeof period === "string" ? period : `${period.start}..${period.end}`;

/** Whether the API knows a period by name, and compares it with the same part of the one before. */
export const isNamed = (period: Period): boolean => typeof period === "string" && !OF_PAGE.includes(period);

/** What the API takes: a preset, or first and last day; of the last 24 hours whole ones, the running one included. */
export function periodMembers(period: Period, timezone: string): Record<string, string> {
  if (typeof period === "string" && isNamed(period)) return { preset: period };
  if (period === "last_24h") {
    const hour = hourBegunAt(Date.now(), timezone);
    return { startDate: minuteText(hour - 23 * HOUR), endDate: minuteText(hour + HOUR - MINUTE) };
  }
  const { start, end } = daysOf(period, timezone);
  return { startDate: start, endDate: end };
}

const minuteText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16)}Z`;

/** The instant at which the running hour of a time zone began: zones differ from UTC by parts of hours as well. */
function hourBegunAt(ms: number, timezone: string): number {
  const minutes = Number(new Intl.DateTimeFormat("en", { minute: "numeric", timeZone: timezone }).format(ms));
  return ms - (ms % MINUTE) - minutes * MINUTE;
}

/** The first day with data of the website that is open; null while it is unknown. */
export const firstDay = signal<string | null>(null);
/** Days of the longest time range that the API takes. */
const LONGEST = 3660;

/** Whether a text is a day of the calendar, in years that stay years of four digits when they are shifted. */
export function isDate(text: string): boolean {
  if (!DATE.test(text) || Number.isNaN(Date.parse(text))) return false;
  return new Date(text).toISOString().startsWith(text) && FIRST_DAY <= text && text <= LAST_DAY;
}

/** Today in a time zone. */
export const today = (timezone: string): string => dayOf(Date.now(), timezone);

export function dayOf(ms: number, timezone: string): string {
  const parts = { timeZone: timezone, year: "numeric", month: "2-digit", day: "2-digit" } as const;
  return new Intl.DateTimeFormat("sv-SE", parts).format(ms);
}

export const addDays = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * DAY).toISOString().slice(0, 10);

/** The first day of a month so many months later than the one of a day. */
function addMonths(day: string, months: number): string {
  const at = new Date(`${day.slice(0, 7)}-01`);
  at.setUTCMonth(at.getUTCMonth() + months);
  return at.toISOString().slice(0, 10);
}

const lastOfMonth = (day: string): string => addDays(addMonths(day, 1), -1);

/** The same date of the year before; of 29 February the 28th. */
function yearBefore(day: string): string {
  const date = `${Number(day.slice(0, 4)) - 1}${day.slice(4)}`;
  return isDate(date) ? date : addDays(`${date.slice(0, 7)}-01`, 27);
}

export const countDays = ({ start, end }: Days): number =>
  Math.round((Date.parse(end) - Date.parse(start)) / DAY) + 1;

/** First and last day of a period in a time zone. */
export function daysOf(period: Period, timezone: string): Days {
  if (typeof period !== "string") return period;
  const now = today(timezone);
  const [month, quarter, year] = [firstOfMonths(now, 1), firstOfMonths(now, 3), firstOfMonths(now, 12)];
  const before = (first: string, months: number): Days => ({ start: addMonths(first, -months), end: addDays(first, -1) });
  switch (period) {
    case "today": return { start: now, end: now };
    case "yesterday": return { start: addDays(now, -1), end: addDays(now, -1) };
    case "last_24h": return { start: addDays(now, -1), end: now };
    case "last_7d": return { start: addDays(now, -6), end: now };
    case "last_28d": return { start: addDays(now, -27), end: now };
    case "last_30d": return { start: addDays(now, -29), end: now };
    case "last_90d": return { start: addDays(now, -89), end: now };
    case "last_12m": return { start: addDays(yearBefore(now), 1), end: now };
    case "this_week": return { start: mondayOf(now), end: now };
    case "last_week": return { start: addDays(mondayOf(now), -7), end: addDays(mondayOf(now), -1) };
    case "this_month": return { start: month, end: now };
    case "last_month": return before(month, 1);
    case "this_quarter": return { start: quarter, end: now };
    case "last_quarter": return before(quarter, 3);
    case "this_year": return { start: year, end: now };
    case "last_year": return before(year, 12);
    case "all": return { start: firstDay.value ?? longestDays(timezone).start, end: now };
  }
}

/** The longest time range that the API takes. */
export const longestDays = (timezone: string): Days => ({ start: addDays(today(timezone), 1 - LONGEST), end: today(timezone) });

/** The first day of the month, quarter or year of a day. */
function firstOfMonths(day: string, months: number): string {
  const month = Number(day.slice(5, 7)) - 1;
  return addMonths(day, -(month % months));
}

/** The days of the calendar that a running preset is a part of. */
function wholeDays(preset: Preset, timezone: string): Days {
  const { start, end } = daysOf(preset, timezone);
  const months = { this_month: 1, this_quarter: 3, this_year: 12 }[preset as string];
  if (months) return { start, end: addDays(addMonths(start, months), -1) };
  return { start, end: preset === "this_week" ? addDays(start, 6) : end };
}

/** Whether a period is not over. */
export const goesOn = (period: Period, timezone: string): boolean => daysOf(period, timezone).end >= today(timezone);

/** The Monday of the week of a day. */
export const mondayOf = (day: string): string => addDays(day, -((new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7));

/**
 * The period before (-1) or after (1) with as many days; the same one where that would begin in the future or before 1970.
 * Before and after a week, months or a year of the calendar come those of the calendar. All time has none beside it.
 */
export function shiftPeriod(period: Period, direction: 1 | -1, timezone: string): Period {
  if (period === "all") return period;
  const [, next] = FOLLOWING.find(([before]) => before === period) ?? [];
  const [before] = FOLLOWING.find(([, after]) => after === period) ?? [];
  const beside = direction === 1 ? next : before;
  if (beside) return beside;
  const days = daysOf(period, timezone);
  const months = countMonths(days) * direction;
  const by = countDays(days) * direction;
  const shifted = months
    ? { start: addMonths(days.start, months), end: lastOfMonth(addMonths(days.end, months)) }
    : { start: addDays(days.start, by), end: addDays(days.end, by) };
  if (shifted.start > today(timezone) || !isDate(shifted.start)) return period;
  return presetOf(shifted, timezone);
}

/** How many months of the calendar days are; 0 when they are none. */
function countMonths({ start, end }: Days): number {
  if (!start.endsWith("-01") || end !== lastOfMonth(end)) return 0;
  const index = (day: string) => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7));
  return index(end) - index(start) + 1;
}

/** Days that are not over as a preset, if there is one of them: it is compared with the same part of the days before it. */
export function presetOf(days: Days, timezone: string): Period {
  const now = today(timezone);
  if (now < days.start || days.end < now) return days;
  const same = (a: Days) => a.start === days.start && a.end === days.end;
  const found = PRESETS.find((preset) => isNamed(preset) && (same(daysOf(preset, timezone)) || same(wholeDays(preset, timezone))));
  return found ?? days;
}

export const GRANULARITIES = ["minute", "quarter_hour", "hourly", "daily", "weekly", "monthly"] as const;
export type Granularity = (typeof GRANULARITIES)[number];
/** Widths of buckets that Explore has besides. */
export type BucketWidth = Granularity | "sunday_week" | "quarterly" | "yearly";

/** The least and the most days of which buckets make a readable series. */
const BOUNDS: Record<BucketWidth, readonly [number, number]> = {
  minute: [1, 2], quarter_hour: [1, 10], hourly: [1, 31], daily: [2, 1100], weekly: [14, LONGEST], sunday_week: [14, LONGEST],
  monthly: [45, LONGEST], quarterly: [100, LONGEST], yearly: [400, LONGEST],
};

/** Whether a bucket of a width can make a readable series of a period. */
export function fitsBuckets(width: BucketWidth, period: Period, timezone: string): boolean {
  const [least, most] = BOUNDS[width];
  const days = countDays(daysOf(period, timezone));
  return least <= days && days <= most;
}

/** The bucket widths of the page that make a readable series of a period. */
export const granularitiesOf = (period: Period, timezone: string): Granularity[] =>
  GRANULARITIES.filter((width) => fitsBuckets(width, period, timezone));

/** Whether buckets are parts of a day. */
export const isOfDay = (granularity: string): boolean => ["minute", "quarter_hour", "hourly"].includes(granularity);

export function defaultGranularity(period: Period, timezone: string): Granularity {
  const days = countDays(daysOf(period, timezone));
  return days <= 2 ? "hourly" : days <= 92 ? "daily" : days <= 400 ? "weekly" : "monthly";
}

/** The instant at which a day is over in a time zone; null without a day. */
export function endOfDay(day: string | undefined, timezone: string): string | null {
  if (!day) return null;
  // The first instant of the next day: its date begins within a day of midnight in UTC, at a whole minute.
  let [early, late] = [-1, 1].map((days) => Date.parse(`${addDays(day, 1 + days)}T00:00:00Z`) / MINUTE) as [number, number];
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    if (dayOf(middle * MINUTE, timezone) > day) late = middle;
    else early = middle;
  }
  return new Date(late * MINUTE).toISOString();
}

/** The last day in a time zone that is over at an instant, or goes on; a day itself stays as it is. */
export const lastDayOf = (instant: string, timezone: string): string =>
  instant.length > 10 ? dayOf(Date.parse(instant) - 1, timezone) : instant;

/** The day in a time zone that is over exactly at an instant; null when none is. */
export function dayEndedAt(instant: string, timezone: string): string | null {
  const day = lastDayOf(instant, timezone);
  return Date.parse(endOfDay(day, timezone)!) === Date.parse(instant) ? day : null;
}

const MONTHS: Record<string, number> = { monthly: 1, quarterly: 3, yearly: 12 };

/** The first day of the bucket that has a day. */
export function firstOfBucket(day: string, granularity: string): string {
  const months = MONTHS[granularity];
  if (months) return firstOfMonths(day, months);
  if (granularity === "sunday_week") return addDays(mondayOf(addDays(day, 1)), -1);
  return granularity === "weekly" ? mondayOf(day) : day;
}

/** The days of a bucket, from its first one. */
export function bucketDays(first: string, granularity: string): Days {
  const months = MONTHS[granularity];
  if (months) return { start: first, end: addDays(addMonths(first, months), -1) };
  return { start: first, end: granularity.endsWith("week") || granularity === "weekly" ? addDays(first, 6) : first };
}
