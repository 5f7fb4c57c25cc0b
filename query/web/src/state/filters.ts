// Filters of the page, as the API takes them, and their short form in the address.
import type { Schemas } from "../types";

export type Filter = Partial<Schemas["Filter"]>;
export type Condition = { field: string; operator: string; value: FilterValue };
export type FilterValue = string | number | boolean | null | (string | null)[];

const MOST_DEPTH = 20;
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
    const filter = parseJson(text);
    return isFilter(filter) ? filter : null;
  }
  const [, field, operator, value] = SHORT.exec(text) ?? [];
  if (!field || !operator) return null;
  return operator.endsWith("_null") ? { field, operator } : { field, operator, value };
}

/** The value of a JSON text; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): boolean => value === undefined || value === null || typeof value === "string";
const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null;
const isValue = (value: unknown): boolean => (Array.isArray(value) ? value.every(isScalar) : isScalar(value));
const isAbsentOr = (check: (value: unknown) => boolean) => (value: unknown): boolean =>
  value === undefined || value === null || check(value);

/** Whether a value has the shape of a filter; its meaning is checked by the API. */
export function isFilter(value: unknown, depth = 0): value is Filter {
  if (!isRecord(value) || depth > MOST_DEPTH) return false;
  const within = (part: unknown) => isFilter(part, depth + 1);
  const list = isAbsentOr((parts) => Array.isArray(parts) && parts.every(within));
  const behavior = isAbsentOr((did) => isRecord(did) && ["event", "path", "goal", "name"].every((name) => isText(did[name])));
  return [value.field, value.operator, value.segment].every(isText) && isValue(value.value)
    && list(value.and) && list(value.or) && isAbsentOr(within)(value.not)
    && behavior(value.has_done) && behavior(value.has_not_done);
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

export const SOURCE = "visit.referrer_name";
export const DIRECT = "Direct";

/** The visits of one row of the sources: those with this name or, without any name, with this referrer. */
export function sourceFilter(name: string): Filter {
  const unnamed = (referrer: string | null) => ({ and: [condition(SOURCE, null), condition("visit.referrer", referrer)] });
  const absent = name === DIRECT ? [unnamed(null)] : [];
  return { or: [condition(SOURCE, name), unnamed(name), ...absent] } as Filter;
}

/** The source that a filter of `sourceFilter` keeps. */
export function sourceOf(filter: Filter): string | null {
  const name = filter.or?.[0]?.value;
  return typeof name === "string" && same(sourceFilter(name), filter) ? name : null;
}

/** The condition of a query that `typed` made a filter; null when it is none. */
export function editable(filter: Filter): Condition | null {
  if (isCondition(filter)) return filter;
  const source = sourceOf(filter.not ?? filter);
  return source === null ? null : { field: SOURCE, operator: filter.not ? "ne" : "eq", value: source };
}

const BARE = ["is_null", "is_not_null"];

/** The condition with a value of the type that its field has. */
export function typed({ field, operator, value }: Condition): Filter {
  if (BARE.includes(operator)) return { field, operator };
  if (field === SOURCE && operator === "eq") return sourceFilter(String(value));
  if (field === SOURCE && operator === "ne") return { not: sourceFilter(String(value)) as Schemas["Filter"] };
  if (Array.isArray(value)) return { field, operator, value: value.filter(Boolean) };
  if (field === "visitor.is_new" || field === "is_bot") return { field, operator, value: value === "true" || value === true };
  const compared = ["gt", "gte", "lt", "lte"].includes(operator) && value !== "" && !Number.isNaN(Number(value));
  return { field, operator, value: compared ? Number(value) : value };
}
