// Days as people type them: `2026-11-30`, or numbers in the order of their language.
import { locale } from "./language";
import { isDate } from "./period";

const numeric = new Intl.DateTimeFormat(locale, { year: "numeric", month: "2-digit", day: "2-digit", timeZone: "UTC" });
const ORDER = numeric.formatToParts(0).map(({ type }) => type).filter((type) => ["year", "month", "day"].includes(type));

/** A day in numbers, as `dayOfText` reads it. */
export const textOfDay = (day: string): string => numeric.format(new Date(day));

/** What is to be typed, such as 12/31/2026. */
export const DAY_EXAMPLE = textOfDay("2026-12-31");

/** The day that a text is, null for none. */
export function dayOfText(text: string): string | null {
  const trimmed = text.trim();
  if (isDate(trimmed)) return trimmed;
  const numbers = trimmed.split(/\D+/).filter(Boolean);
  if (numbers.length !== 3) return null;
  const [year = "", month = "", day = ""] = (["year", "month", "day"] as const).map((part) => numbers[ORDER.indexOf(part)]);
  const date = `${year.length === 2 ? "20" : ""}${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
  return isDate(date) ? date : null;
}

/** The first day of the week in the language, 0 is Sunday. */
export function weekStart(): number {
  const { weekInfo, getWeekInfo } = new Intl.Locale(locale) as { weekInfo?: { firstDay: number }; getWeekInfo?: () => { firstDay: number } };
  const { firstDay = 1 } = getWeekInfo ? getWeekInfo.call(new Intl.Locale(locale)) : weekInfo ?? {};
  return firstDay % 7;
}
