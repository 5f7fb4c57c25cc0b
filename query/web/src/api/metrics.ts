// Metrics queries under the time range and filters of the page.
import { address } from "../state/address";
import { periodMembers } from "../state/period";
import type { Schemas } from "../types";
import { fetchJson } from "./request";
import { subjectQuery, timezone } from "./session";
import { type Loaded, useLoaded } from "./use";

export type Metric = string | Record<string, unknown>;
export type MetricsRow = Record<string, number | string | null>;

export interface MetricsAsk {
  metrics: Metric[];
  dimensions?: string[];
  /** Filters beside the page's. */
  filters?: Schemas["Filter"][];
  goals?: Record<string, unknown>[];
  orderBy?: { field: string; direction: "asc" | "desc" }[];
  limit?: number;
}

const PATH = "/v1/query/metrics";

/** The whole request, for `Card`. */
export function metricsRequest(ask: MetricsAsk) {
  const { period, filters, bots } = address.value;
  const all = [...filters, ...(ask.filters ?? [])];
  const body = {
    ...ask,
    ...periodMembers(period),
    timezone: timezone.value,
    ...(all.length ? { filters: all } : {}),
    ...(bots ? { include_bots: true } : {}),
  };
  return { path: PATH, query: subjectQuery.value, body };
}

/** The rows of a metrics query; `null` sends no request. */
export function useMetrics(ask: MetricsAsk | null): Loaded<MetricsRow[]> {
  const request = ask && subjectQuery.value.website_id ? metricsRequest(ask) : null;
  return useLoaded(request && JSON.stringify(request), async (signal) => {
    const { path, query, body } = request!;
    return (await fetchJson<{ data: MetricsRow[] }>(path, { query, body, signal })).data;
  });
}
