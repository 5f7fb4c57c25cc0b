// Filters of the page, as the API takes them, and their short form in the address.
import type { Schemas } from "../api/types";

export type Filter = Partial<Schemas["Filter"]>;
export type Condition = { field: string; operator: string; value: FilterValue };
export type FilterValue = string | number | boolean | null | (string | null)[];

const SHORT = /^([\w.@$-]+):([a-z_]+):?([^]*)$/;

export const isCondition = (filter: Filter): filter is Condition =>
  typeof filter.field === "string" && typeof filter.operator === "string";

/** `field:operator:value` for a condition with one text, JSON for everything else. */
export function formatFilter(filter: Filter): string {
  if (!isCondition(filter)) return JSON.stringify(filter);
  const { field, operator, value } = filter;
  if (value === undefined || value === null) return `${field}:${operator}`;
  return typeof value === "string" ? `${field}:${operator}:${value}` : JSON.stringify(filter);
}

export function parseFilter(text: string): Filter | null {
  if (text.startsWith("{")) {
    try {
      return JSON.parse(text) as Filter;
    } catch {
      return null;
    }
  }
  const [, field, operator, value] = SHORT.exec(text) ?? [];
  if (!field || !operator) return null;
  return operator.endsWith("_null") ? { field, operator } : { field, operator, value };
}

export const condition = (field: string, value: string | null): Filter =>
  value === null ? { field, operator: "is_null" } : { field, operator: "eq", value };

/** A condition of a query, as `Ask.filters` takes it. */
export const equals = (field: string, value: string): Schemas["Filter"] => condition(field, value) as Schemas["Filter"];

const same = (a: Filter, b: Filter): boolean => formatFilter(a) === formatFilter(b);

export const hasFilter = (filters: Filter[], filter: Filter): boolean =>
  filters.some((each) => same(each, filter));

/** Without the filter if it is there, else with it. */
export const toggleFilter = (filters: Filter[], filter: Filter): Filter[] =>
  hasFilter(filters, filter)
    ? filters.filter((each) => !same(each, filter))
    : [...filters, filter];

/** Fields of the filter dialog that stand for what visitors did, and the member of `has_done` with it. */
export const DONE_FIELDS: Record<string, "path" | "event"> = { "did.path": "path", "did.event": "event" };

/** A filter on what visitors did, from a condition with one of these fields. */
export function doneFilter({ field, operator, value }: Condition): Filter {
  const done = { [DONE_FIELDS[field]!]: String(value) } as unknown as NonNullable<Filter["has_done"]>;
  return operator === "ne" ? { has_not_done: done } : { has_done: done };
}

/** A filter as the dialog edits it; null when it is none of one condition. */
export function editable(filter: Filter): Condition | null {
  if (isCondition(filter)) return filter;
  const done = filter.has_done ?? filter.has_not_done;
  const entries = Object.entries(done ?? {});
  const [field] = Object.entries(DONE_FIELDS).find(([, member]) => member === entries[0]?.[0]) ?? [];
  if (!field || entries.length > 1) return null;
  return { field, operator: filter.has_done ? "eq" : "ne", value: String(entries[0]![1]) };
}

const OPPOSITE: Record<string, string> = {
  eq: "ne", in: "not_in", contains: "not_contains", is_null: "is_not_null",
};
const OPPOSITES = new Map(Object.entries(OPPOSITE).flatMap(([a, b]) => [[a, b], [b, a]]));

/** The filter that keeps the other rows. */
export function negated(filter: Filter): Filter {
  if (isCondition(filter)) {
    const operator = OPPOSITES.get(filter.operator);
    if (operator) return { ...filter, operator };
  }
  if (filter.not) return filter.not;
  if (filter.has_done) return { has_not_done: filter.has_done };
  if (filter.has_not_done) return { has_done: filter.has_not_done };
  return { not: filter as Schemas["Filter"] };
}

/** Both filters as alternatives: one of them must hold. */
export function alternatives(filter: Filter, other: Filter): Filter {
  const parts = filter.or ?? [filter as Schemas["Filter"]];
  return { or: [...parts, other as Schemas["Filter"]] };
}
