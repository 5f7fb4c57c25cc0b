// The time range of the page: a preset of the API, or days. Dates are texts `YYYY-MM-DD`.
export const PRESETS = [
  "today", "yesterday", "last_7d", "last_30d", "last_90d",
  "this_week", "last_week", "this_month", "last_month", "this_year", "last_year",
] as const;
export type Preset = (typeof PRESETS)[number];

export interface Days {
  start: string;
  end: string;
}
export type Period = Preset | Days;

export const DEFAULT_PERIOD: Period = "last_7d";
/** The period after a preset that is over. */
const NEXT: Partial<Record<Preset, Preset>> = {
  yesterday: "today", last_week: "this_week", last_month: "this_month", last_year: "this_year",
};
const DAY = 86_400_000;
const MINUTE = 60_000;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const [FIRST_DAY, LAST_DAY] = ["1970-01-01", "2999-12-31"];

/** null when the text is neither a preset nor two days. */
export const parsePeriod = (text: string): Period | null =>
  PRESETS.includes(text as Preset) ? (text as Preset) : parseDays(text);

/** First and last day as `formatPeriod` writes them; null when they are none. */
export function parseDays(text: string): Days | null {
  const [start, end, more] = text.split("..");
  return more === undefined && isDate(start) && isDate(end) && start <= end ? { start, end } : null;
}

export const formatPeriod = (period: Period): string =>
  typeof period === "string" ? period : `${period.start}..${period.end}`;

/** What the API takes: a preset, or first and last day. */
export const periodMembers = (period: Period): Record<string, string> =>
  typeof period === "string"
    ? { preset: period }
    : { startDate: period.start, endDate: period.end };

/** Whether a text is a day of the calendar, in years that stay years of four digits when they are shifted. */
export function isDate(text: string | undefined): text is string {
  if (text === undefined || !DATE.test(text) || Number.isNaN(Date.parse(text))) return false;
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

export const countDays = ({ start, end }: Days): number =>
  Math.round((Date.parse(end) - Date.parse(start)) / DAY) + 1;

/** First and last day of a period in a time zone. */
export function daysOf(period: Period, timezone: string): Days {
  if (typeof period !== "string") return period;
  const now = today(timezone);
  const month = `${now.slice(0, 7)}-01`;
  switch (period) {
    case "today": return { start: now, end: now };
    case "yesterday": return { start: addDays(now, -1), end: addDays(now, -1) };
    case "last_7d": return { start: addDays(now, -6), end: now };
    case "last_30d": return { start: addDays(now, -29), end: now };
    case "last_90d": return { start: addDays(now, -89), end: now };
    case "this_week": return { start: mondayOf(now), end: now };
    case "last_week": return { start: addDays(mondayOf(now), -7), end: addDays(mondayOf(now), -1) };
    case "this_month": return { start: month, end: now };
    case "last_month": {
      const end = addDays(month, -1);
      return { start: `${end.slice(0, 7)}-01`, end };
    }
    case "this_year": return { start: `${now.slice(0, 4)}-01-01`, end: now };
    case "last_year": {
      const year = Number(now.slice(0, 4)) - 1;
      return { start: `${year}-01-01`, end: `${year}-12-31` };
    }
  }
}

/** Whether a period is not over. */
export const goesOn = (period: Period, timezone: string): boolean => daysOf(period, timezone).end >= today(timezone);

/** The Monday of the week of a day. */
export const mondayOf = (day: string): string => addDays(day, -((new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7));

/**
 * The period before (-1) or after (1) with as many days; the same one where that would begin in the future or before 1970.
 * After a week, month or year of the calendar comes the next one of the calendar.
 */
export function shiftPeriod(period: Period, direction: 1 | -1, timezone: string): Period {
  const next = typeof period === "string" ? NEXT[period] : undefined;
  if (direction === 1 && next) return next;
  const days = daysOf(period, timezone);
  const by = countDays(days) * direction;
  const shifted = { start: addDays(days.start, by), end: addDays(days.end, by) };
  if (shifted.start > today(timezone) || !isDate(shifted.start)) return period;
  return presetOf(shifted, timezone);
}

/**
 * Days that are not over as a preset, if there is one of them: it is compared with the same part of the days before it.
 * The week, month or year of today may end later.
 */
export function presetOf(days: Days, timezone: string): Period {
  const now = today(timezone);
  if (now < days.start || days.end < now) return days;
  const found = PRESETS.find((preset) => {
    const { start, end } = daysOf(preset, timezone);
    return start === days.start && end === now && (days.end === now || preset.startsWith("this_"));
  });
  return found ?? days;
}

export const GRANULARITIES = ["minute", "hourly", "daily", "weekly", "monthly"] as const;
export type Granularity = (typeof GRANULARITIES)[number];

const MOST_DAYS: Record<Granularity, number> = {
  minute: 2, hourly: 31, daily: 1100, weekly: 3660, monthly: 3660,
};
const LEAST_DAYS: Record<Granularity, number> = {
  minute: 1, hourly: 1, daily: 2, weekly: 14, monthly: 45,
};

/** The bucket widths that make a readable series of a period. */
export function granularitiesOf(period: Period, timezone: string): Granularity[] {
  const days = countDays(daysOf(period, timezone));
  return GRANULARITIES.filter((each) => LEAST_DAYS[each] <= days && days <= MOST_DAYS[each]);
}

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

/** The days of a bucket, from its first one. */
export function bucketDays(first: string, granularity: string): Days {
  if (granularity === "weekly") return { start: first, end: addDays(first, 6) };
  if (granularity !== "monthly") return { start: first, end: first };
  const next = addDays(`${first.slice(0, 7)}-28`, 4);
  return { start: first, end: addDays(`${next.slice(0, 7)}-01`, -1) };
}
