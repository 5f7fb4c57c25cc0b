// Filters in words.
import { isolate } from "../isolate";
import { shownValue } from "../state/filter_values";
import { editable, type Filter, type FilterValue, isCondition } from "../state/filters";
import { formatNumber } from "../state/format";
import { texts } from "../texts";

const t = texts.filters;

/** The text of a name, which may come from the address; a name without one stays as it is. */
const named = (names: Record<string, string>, name: string): string => (Object.hasOwn(names, name) ? names[name]! : name);

export const fieldName = (field: string): string => named(t.fields, field);

export function filterText(filter: Filter): string {
  const known = editable(filter);
  if (known && !isCondition(filter)) {
    const value = isolate(String(known.value));
    return t.sentences[known.field]?.[known.operator]?.(value) ?? `${fieldName(known.field)} ${t.operators[known.operator]} ${value}`;
  }
  if (filter.or) return filter.or.map(filterText).join(` ${t.or} `);
  if (filter.and) return filter.and.map(filterText).join(", ");
  if (filter.not) return t.not(filterText(filter.not));
  if (filter.segment) return `${t.segment} ${isolate(filter.segment)}`;
  if (filter.has_done) return `${t.did} ${done(filter.has_done)}`;
  if (filter.has_not_done) return `${t.didNot} ${done(filter.has_not_done)}`;
  if (!isCondition(filter)) return JSON.stringify(filter);
  const operator = named(t.operators, filter.operator);
  const value = valueText(filter.field, filter.value);
  return `${fieldName(filter.field)} ${operator}${value ? ` ${value}` : ""}`;
}

const done = ({ event, path, goal, name }: NonNullable<Filter["has_done"]>): string => isolate(event ?? path ?? goal ?? name ?? "");

function valueText(field: string, value: FilterValue | undefined): string {
  if (Array.isArray(value)) return value.map((each) => valueText(field, each)).join(", ");
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return formatNumber(value);
  const shown = shownValue(field, String(value));
  return shown === value ? isolate(shown) : shown;
}
