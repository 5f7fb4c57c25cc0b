// Numbers, times and names in the language of the page.
import { texts } from "../texts";
import { locale } from "./language";
import { addDays, dayOf, type Days, isOfDay, lastDayOf } from "./period";

const plain = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
const hundredths = new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const digits = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });
const exact = new Intl.NumberFormat(locale, { maximumFractionDigits: 6 });
const compact = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });

export const formatNumber = (value: number): string => plain.format(value);
/** Of results of computing, which may be small: three digits below 1, as in 0.0123. */
export const formatRatio = (value: number): string => (Math.abs(value) < 1 ? digits : plain).format(value);
/** With all digits that the API computes. */
export const formatExact = (value: number): string => exact.format(value);
/** Of counts, which have no fractions: an axis of them has none either. */
export const countFormat = (value: number): string => formatNumber(value);
/** Short from 1,000, as at an axis: 1.2K. */
export const formatCompact = (value: number): string => compact.format(value);
/** Short from 10,000: 12.3K. */
export const formatShort = (value: number): string =>
  Math.abs(value) < 10_000 ? plain.format(value) : compact.format(value);
/** With as many digits in each row of a column; nothing and everything have none. */
export const formatPercent = (value: number, digits = 1): string =>
  new Intl.NumberFormat(locale, { style: "unit", unit: "percent", maximumFractionDigits: digits, minimumFractionDigits: value === 0 || value === 100 ? 0 : digits }).format(value);

/** In English seconds as `45s`, `1m 32s`, `2h 05m`. */
export function formatDuration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return texts.units.seconds(whole);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return hours
    ? texts.units.hours(hours, String(minutes).padStart(2, "0"))
    : texts.units.minutes(minutes, String(whole % 60).padStart(2, "0"));
}

/** A time between two events, which may be days: `4d 13h`. */
export function formatSpan(seconds: number): string {
  const hours = Math.floor(Math.round(seconds) / 3600);
  return hours < 24 ? formatDuration(seconds) : texts.units.days(Math.floor(hours / 24), hours % 24);
}

export const formatMilliseconds = (value: number): string =>
  value < 1000 ? `${plain.format(Math.round(value))} ms` : `${hundredths.format(value / 1000)} s`;

/** A label of a bucket (`2026-11-16`, `2026-11-16 13:00:00`), which is local to the time zone of the query. */
export function formatBucket(label: string, granularity: string): string {
  const date = new Date(`${label.slice(0, 10)}T${label.slice(11) || "00:00:00"}Z`);
  if (granularity === "quarterly") return `Q${Math.ceil((date.getUTCMonth() + 1) / 3)} ${date.getUTCFullYear()}`;
  const parts: Intl.DateTimeFormatOptions =
    granularity === "yearly" ? { year: "numeric" } : granularity === "monthly" ? { month: "long", year: "numeric" }
      : isOfDay(granularity)
        ? { weekday: "short", day: "numeric", month: "short", hour: "numeric", minute: "2-digit" }
        : { weekday: "short", day: "numeric", month: "short", year: "numeric" };
  const text = new Intl.DateTimeFormat(locale, { ...parts, timeZone: "UTC" }).format(date);
  return granularity === "weekly" || granularity === "sunday_week" ? `${text} – ${formatDay(addDays(label.slice(0, 10), 6))}` : text;
}

export const formatDay = (date: string): string =>
  new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" })
    .format(new Date(date));

export const formatMonth = (date: string): string =>
  new Intl.DateTimeFormat(locale, { month: "short", year: "2-digit", timeZone: "UTC" }).format(new Date(date));

/** Days without the year where that is the running one. */
export const formatShortDays = (days: Days): string =>
  formatDays(days, [days.start, days.end].some((day) => day.slice(0, 4) !== String(new Date().getFullYear())));

export function formatDays({ start, end }: Days, year = true): string {
  const format = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: year ? "numeric" : undefined, timeZone: "UTC" });
  return start === end ? format.format(new Date(start)) : format.formatRange(new Date(start), new Date(end));
}

/** A time range of the API, end excluded, as days, and the time on the last day if that is not over. */
export function formatRange(start: string, end: string, timeZone: string, format = (days: Days) => formatDays(days)): [days: string, until: string | null] {
  const last = lastDayOf(end, timeZone);
  const isWhole = dayOf(Date.parse(end), timeZone) !== last;
  const time = new Intl.DateTimeFormat(locale, { hour: "numeric", minute: "2-digit", timeZone }).format(new Date(end));
  return [format({ start: dayOf(Date.parse(start), timeZone), end: last }), isWhole ? null : time];
}

const list = new Intl.ListFormat(locale, { type: "conjunction" });
export const listText = (parts: string[]): string => list.format(parts);

/** Without the year. */
export const shortDay = (date: string): string =>
  new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" }).format(new Date(date));

/** 1 is Monday. */
export const weekdayName = (day: number): string =>
  new Intl.DateTimeFormat(locale, { weekday: "long", timeZone: "UTC" }).format(new Date(Date.UTC(2024, 0, day)));

/** An instant as the label of a bucket would be written: `2026-11-16 13:00:00`. */
export const instantLabel = (instant: string, timeZone: string): string =>
  new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" }).format(new Date(instant));

const NO_BREAK_SPACE = "\u00a0";
const yearOf = (date: Date, timeZone: string): string => new Intl.DateTimeFormat("en", { year: "numeric", timeZone }).format(date);

/** An instant of the API in a time zone, with its year where that is not the running one. */
export function formatInstant(instant: string | null, timeZone: string, seconds = false): string {
  if (instant === null) return "–";
  const date = new Date(instant);
  return new Intl.DateTimeFormat(locale, {
    day: "numeric", month: "short", year: yearOf(date, timeZone) === yearOf(new Date(), timeZone) ? undefined : "numeric",
    hour: "numeric", minute: "2-digit", second: seconds ? "2-digit" : undefined, timeZone,
  }).formatToParts(date).map(({ value }, i, parts) => (parts[i + 1]?.type === "dayPeriod" ? NO_BREAK_SPACE : value)).join("");
}

export const formatTime = (instant: string | null, timeZone: string): string =>
  instant === null ? "–" : new Intl.DateTimeFormat(locale, { hour: "numeric", minute: "2-digit", second: "2-digit", timeZone })
    .format(new Date(instant));

/** An hour of the day: 7:00 AM. */
export const formatHour = (hour: number): string =>
  new Intl.DateTimeFormat(locale, { hour: "numeric", minute: "2-digit", timeZone: "UTC" }).format(new Date(Date.UTC(2024, 0, 1, hour)));

const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });

export function formatAgo(instant: string): string {
  const seconds = (Date.now() - Date.parse(instant)) / 1000;
  if (seconds < 90) return relative.format(-Math.round(seconds), "second");
  if (seconds < 5400) return relative.format(-Math.round(seconds / 60), "minute");
  if (seconds < 129_600) return relative.format(-Math.round(seconds / 3600), "hour");
  return relative.format(-Math.round(seconds / 86_400), "day");
}

const regions = new Intl.DisplayNames(locale, { type: "region", fallback: "code" });
const languages = new Intl.DisplayNames(locale, { type: "language", fallback: "code" });

/** The name of a country code; codes that are none stay as they are. */
export const countryName = (code: string | null | undefined): string =>
  !code ? "–" : /^[A-Z]{2}$/.test(code) ? (regions.of(code) ?? code) : code;

export function languageName(tag: string): string {
  try {
    return languages.of(tag) ?? tag;
  } catch {
    return tag;
  }
}

/** In the manner of its currency; `short` from 10,000 on: €12.3K. */
export function formatMoney(currency: string | null, value: number, short = false): string {
  // What a shop sends as currency may be no code of one.
  if (!currency || !/^[a-z]{3}$/i.test(currency)) return [(short ? formatShort : formatNumber)(value), currency].filter(Boolean).join(" ");
  const compact = short && Math.abs(value) >= 10_000 ? { notation: "compact", maximumFractionDigits: 1 } as const : {};
  return new Intl.NumberFormat(locale, { style: "currency", currency, ...compact }).format(value);
}
