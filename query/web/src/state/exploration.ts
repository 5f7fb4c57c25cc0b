// A custom query as the page builds it, and its form in the address.
import type { Schemas } from "../api/types";
import { typed } from "../components/filter_dialog";
import type { Condition } from "./filters";

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

export function parseExploration(text: string | undefined): Exploration {
  try {
    return { ...START, ...(JSON.parse(text ?? "{}") as Partial<Exploration>) };
  } catch {
    return START;
  }
}

/** The column of a value in rows: `count`, `avg_load_time`. */
export const aliasOf = ({ aggregate, field }: Exploration["selects"][number]): string =>
  field === "*" ? "count" : `${aggregate}_${field.replace(/\W+/g, "_")}`;

/** The column of a group in rows. */
export const columnOf = (group: string): string =>
  group.startsWith(TIME) && !group.includes("_of_") ? DATE : group.replace(TIME, "");

/** The largest first; a series in order of time. */
export function queryOf({ table, selects, groups, filters, having }: Exploration): Schemas["CustomQueryBody"] {
  const first = groups[0];
  const order = first?.startsWith(TIME)
    ? { field: columnOf(first), direction: "asc" as const }
    : { field: aliasOf(selects[0]!), direction: "desc" as const };
  return {
    table: table as Schemas["CustomQueryBody"]["table"],
    selects: selects.map((each) => ({ ...each, alias: aliasOf(each) })) as Schemas["SelectTerm"][],
    groupBy: groups,
    filters: filters.map(typed) as Schemas["Filter"][],
    having: having.map(typed) as Schemas["Filter"][],
    orderBy: groups.length ? [order] : [],
  };
}
