// A custom query as the page builds it, and its form in the address.
import type { Schemas } from "../types";
import { type Condition, isCondition, isFilter, isRecord, parseJson, typed } from "./filters";

export interface Exploration {
  table: string;
  selects: { aggregate: string; field: string }[];
  groups: string[];
  filters: Condition[];
  having: Condition[];
  limit: number;
}

export const START: Exploration = {
  table: "events", selects: [{ aggregate: "count", field: "*" }], groups: ["time:daily"], filters: [], having: [], limit: 100,
};
export const TIME = "time:";
/** The column of a time bucket in rows. */
export const DATE = "date";

export const formatExploration = (exploration: Exploration): string => JSON.stringify(exploration);

const listOf = (check: (value: unknown) => boolean) => (value: unknown): boolean => Array.isArray(value) && value.every(check);
const isTerm = (value: unknown): boolean =>
  isRecord(value) && typeof value.aggregate === "string" && typeof value.field === "string";
const conditions = listOf((value) => isFilter(value) && isCondition(value));
const MEMBERS: Record<keyof Exploration, (value: unknown) => boolean> = {
  table: (value) => typeof value === "string",
  selects: (value) => listOf(isTerm)(value) && (value as unknown[]).length > 0,
  groups: listOf((value) => typeof value === "string"),
  filters: conditions,
  having: conditions,
  limit: (value) => Number.isInteger(value) && (value as number) > 0,
};

/** Missing members have the values of `START`; null when the text is no query. */
export function parseExploration(text: string): Exploration | null {
  const value = parseJson(text);
  if (!isRecord(value)) return null;
  const known = Object.entries(value).every(([name, member]) => Object.hasOwn(MEMBERS, name) && MEMBERS[name as keyof Exploration](member));
  return known ? { ...START, ...value } : null;
}

/** The column of a value in rows: `count`, `avg_load_time`. */
export const aliasOf = ({ aggregate, field }: Exploration["selects"][number]): string =>
  field === "*" ? "count" : `${aggregate}_${field.replace(/\W+/g, "_")}`;

/** The column of a group in rows. */
export const columnOf = (group: string): string =>
  group.startsWith(TIME) && !group.includes("_of_") ? DATE : group.replace(TIME, "");

/** Whether the value of a condition was typed, or needs none. */
const isMeant = ({ operator, value }: Condition): boolean => value !== "" || operator.endsWith("_null");

/** Each value once, as the API takes them. */
const distinct = (selects: Exploration["selects"]): Exploration["selects"] =>
  selects.filter((each, i) => selects.findIndex((other) => aliasOf(other) === aliasOf(each)) === i);

/** The largest first; a series in order of time. */
export function queryOf({ table, selects, groups, filters, having }: Exploration): Schemas["CustomQueryBody"] {
  const first = groups[0];
  const order = first?.startsWith(TIME)
    ? { field: columnOf(first), direction: "asc" as const }
    : { field: aliasOf(selects[0]!), direction: "desc" as const };
  return {
    table: table as Schemas["CustomQueryBody"]["table"],
    selects: distinct(selects).map((each) => ({ ...each, alias: aliasOf(each) })) as Schemas["SelectTerm"][],
    groupBy: [...new Set(groups)],
    filters: filters.filter(isMeant).map(typed) as Schemas["Filter"][],
    having: having.filter(isMeant).map(typed) as Schemas["Filter"][],
    orderBy: groups.length ? [order] : [],
  };
}
