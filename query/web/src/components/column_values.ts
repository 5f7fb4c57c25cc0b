// Values of a column that occur in the time range of the page, as suggestions.
import { fetchJson } from "../api/request";
import type { Schemas } from "../api/types";
import { useLoaded } from "../api/use";
import { address } from "../app/address";
import { subjectQuery, timezone } from "../app/session";
import { periodMembers } from "../state/period";

const MOST = 100;
const COUNT = "count";

/** The most frequent values; a `null` field asks nothing. */
export function useColumnValues(table: string, field: string | null): string[] {
  const { period, bots } = address.value;
  const body = {
    query: { table, selects: [{ field: "*", aggregate: "count", alias: COUNT }], groupBy: [field] },
    limit: MOST, timezone: timezone.value, ...periodMembers(period), ...(bots ? { include_bots: true } : {}),
  };
  const { value, loading } = useLoaded(field && JSON.stringify([subjectQuery.value, body]), (signal) =>
    fetchJson<Schemas["CustomResponse"]>("/v1/query/custom", { query: subjectQuery.value, body, signal }));
  const values = loading || !field ? [] : (value?.data ?? []).map((row) => Object.entries(row).find(([name]) => name !== COUNT)?.[1]);
  return values.filter((each) => each !== null && each !== undefined).map(String);
}
