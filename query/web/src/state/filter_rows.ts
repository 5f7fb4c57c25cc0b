// Filters as the panel edits them: rows that must all hold, of parts of which one must hold, with values of which one must hold.
import { type Condition, type Filter, type FilterValue, isCondition, SOURCE, sourceFilter, sourceOf } from "./filters";
import { kindOfField } from "./dimensions";
import { addDays, dayOf, endOfDay, isDate } from "./period";

export interface Part {
  field: string;
  /** Of the API, but that `eq` and `ne` stand for lists as well. */
  operator: string;
  values: string[];
}

export interface Row {
  /** Empty where the panel cannot edit the filter. */
  parts: Part[];
  /** What it was made from, as long as nothing is changed. */
  filter?: Filter;
}

/** Fields of the panel that stand for what visitors did, and the member of `has_done` with it. */
const DONE_FIELDS: Record<string, "path" | "event" | "goal"> = { "did.path": "path", "did.event": "event", "did.goal": "goal" };
const OPPOSITES = Object.entries({ eq: "ne", contains: "not_contains", is_null: "is_not_null", starts_with: "", ends_with: "" });
const BARE = ["is_null", "is_not_null"];

export const isBare = (operator: string): boolean => BARE.includes(operator);
export const isNegative = (operator: string): boolean => OPPOSITES.some(([, negative]) => negative === operator);
const isPositive = (operator: string): boolean => OPPOSITES.some(([positive]) => positive === operator);
/** The operator that keeps the other rows; null without one. */
export function oppositeOf(operator: string): string | null {
  const [positive, negative] = OPPOSITES.find((pair) => pair.includes(operator)) ?? [];
  return (operator === positive ? negative : positive) || null;
}

export const rowOf = (filter: Filter): Row => ({ parts: partsOf(filter) ?? [], filter });

/** A filter in parts of which one must hold; null when it cannot be edited. */
export function partsOf(filter: Filter): Part[] | null {
  const one = partOf(filter);
  if (one) return [one];
  const parts = filter.or?.map(partOf);
  return parts?.every((part) => part !== null) ? parts as Part[] : null;
}

function partOf(filter: Filter): Part | null {
  if (isCondition(filter)) return partOfCondition(filter);
  const source = sourceOf(filter);
  if (source !== null) return { field: SOURCE, operator: "eq", values: [source] };
  if (filter.segment) return { field: "segment", operator: "eq", values: [filter.segment] };
  const done = doneOf(filter);
  if (done) return done;
  if (filter.or) return joined(filter.or.map(partOf));
  const kept = filter.not ? partOf(filter.not) : null;
  const opposite = kept && isPositive(kept.operator) && !isBare(kept.operator) && oppositeOf(kept.operator);
  return opposite ? { ...kept, operator: opposite } : null;
}

function partOfCondition({ field, operator, value }: Condition): Part | null {
  const listed = { in: "eq", not_in: "ne" }[operator];
  const values = [value].flat().filter((each) => each !== undefined && each !== null).map(String);
  return Array.isArray(value) && !listed ? null : { field, operator: listed ?? operator, values };
}

function doneOf(filter: Filter): Part | null {
  const [[member, value], ...more] = Object.entries(filter.has_done ?? filter.has_not_done ?? { none: null }) as [[string, unknown]];
  const [field] = Object.entries(DONE_FIELDS).find(([, name]) => name === member) ?? [];
  if (!field || more.length || typeof value !== "string") return null;
  return { field, operator: filter.has_done ? "eq" : "ne", values: [value] };
}

/** Alternatives of one field as one part; null when they are not. */
function joined(parts: (Part | null)[]): Part | null {
  const [first] = parts;
  if (!first || !parts.every((part) => part?.field === first.field && part.operator === first.operator)) return null;
  return isPositive(first.operator) ? { ...first, values: [...new Set(parts.flatMap((part) => part!.values))] } : null;
}

/** What values are beside texts. */
export interface ValueTypes {
  timezone: string;
  /** Properties whose values are all numbers, and those with other values. */
  numeric: string[];
  known: string[];
}

/** The filter of a row; null while it has no value. */
export function filterOfRow(row: Row, types: ValueTypes): Filter | null {
  if (row.filter) return row.filter;
  const filters = row.parts.filter(isComplete).map((part) => filterOf(part, types));
  return filters.length ? anyOf(filters) : null;
}

export const isComplete = ({ operator, values }: Part): boolean => isBare(operator) || values.length > 0;

const anyOf = (filters: Filter[]): Filter => (filters.length === 1 ? filters[0]! : { or: filters as NonNullable<Filter["or"]> });

function filterOf({ field, operator, values }: Part, types: ValueTypes): Filter {
  if (isBare(operator)) return { field, operator };
  const typed = values.map((value) => typedValue(field, operator, value, types));
  const isPlain = kindOfField(field) !== "special" && field !== SOURCE;
  const isList = ["eq", "ne"].includes(operator) && new Set(typed.map((value) => typeof value)).size === 1;
  if (isPlain && values.length > 1 && isList) return { field, operator: operator === "eq" ? "in" : "not_in", value: typed as string[] };
  if (isPlain && values.length === 1) return { field, operator, value: typed[0] };
  const kept = isNegative(operator) ? oppositeOf(operator)! : operator;
  if (isNegative(operator) && values.length === 1 && DONE_FIELDS[field]) return { has_not_done: done(field, values[0]!) };
  const filter = anyOf(values.map((value, at) => filterOfValue(field, kept, value, typed[at]!)));
  return isNegative(operator) ? { not: filter as NonNullable<Filter["not"]> } : filter;
}

const done = (field: string, value: string) => ({ [DONE_FIELDS[field]!]: value }) as unknown as NonNullable<Filter["has_done"]>;

function filterOfValue(field: string, operator: string, value: string, typed: FilterValue): Filter {
  if (field === "segment") return { segment: value };
  if (DONE_FIELDS[field]) return { has_done: done(field, value) };
  return field === SOURCE && operator === "eq" ? sourceFilter(value) : { field, operator, value: typed };
}

const NUMBER = /^-?\d{1,14}(\.\d{1,10})?$/;

/** The value of a text in the type that its field has; properties and traits have the one of their values. */
function typedValue(field: string, operator: string, text: string, { timezone, numeric, known }: ValueTypes): string | number | boolean {
  const kind = kindOfField(field);
  if (kind === "flag") return text === "true";
  if (kind === "instant") return isDate(text) ? endOfDay(addDays(text, -1), timezone)! : text;
  const isNumber = NUMBER.test(text) && (["gt", "gte", "lt", "lte"].includes(operator) || kind === "number" || (kind === "property"
    && (numeric.includes(field) || !known.includes(field))));
  if (isNumber) return Number(text);
  return kind === "property" && ["eq", "ne"].includes(operator) && ["true", "false"].includes(text) ? text === "true" : text;
}

/** The day of an instant that a filter has. */
export const dayOfValue = (value: string, timezone: string): string =>
  isDate(value) || Number.isNaN(Date.parse(value)) ? value : dayOf(Date.parse(value), timezone);
