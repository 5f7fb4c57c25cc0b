// Words for the columns, aggregates and time buckets of custom queries; columns with a filter have its word.
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import { type Exploration, TIME } from "./exploration";
import { shownValue } from "./filter_values";
import { formatBucket, formatInstant, formatNumber, weekdayName } from "./format";

const t = moreTexts.explore;
const fields = texts.filters.fields;
export const PROPERTY = "properties.";
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

const own = (words: Record<string, string>, name: string): string | undefined => (Object.hasOwn(words, name) ? words[name] : undefined);

/** What a column or a time bucket is called; a column without words is called by its name. */
export function columnText(name: string): string {
  const known = own(fields, name) ?? own(t.columns, name) ?? own(t.buckets, name);
  if (known) return known;
  if (name.startsWith(PROPERTY)) return t.property(name.slice(PROPERTY.length));
  if (name.startsWith("event.")) return t.ofEvent(columnText(`visit.${name.slice("event.".length)}`));
  if (name.startsWith("visit.")) {
    const column = name.slice("visit.".length);
    const text = columnText(column);
    return text === column ? name : t.ofVisit(text);
  }
  return own(fields, `visit.${name}`) ?? own(t.columns, `visit.${name}`) ?? name;
}

export const aggregateText = (name: string): string => own(t.aggregates, name) ?? name;

/** `Mean: Load time (ms)`; of all rows `Count`. */
export const valueText = ({ aggregate, field }: Exploration["selects"][number]): string =>
  field === "*" ? t.count : t.valueOf(aggregateText(aggregate), columnText(field));

/** Words and values of a cell: countries, languages, kinds of events, times and days as elsewhere on the page. */
export function cellText(group: string, value: unknown, zone: string): string {
  if (value === null || value === undefined) return group === "segment" ? t.allVisitors : "–";
  if (typeof value === "boolean") return value ? t.yes : t.no;
  if (group === `${TIME}day_of_week`) return weekdayName(Number(value));
  if (typeof value === "number") return formatNumber(value);
  const text = String(value);
  if (group.startsWith(TIME)) return formatBucket(text, group.slice(TIME.length));
  return INSTANT.test(text) ? formatInstant(text, zone, true) : shownValue(group, text);
}
