// Metrics queries under the time range and filters of the page.
import { address, comparison } from "../state/address";
import type { Schemas } from "../types";
import { type ComparedRow, comparedWith, pageMembers } from "./ask";
import { fetchJson, send } from "./request";
import { subjectQuery } from "./session";
import { type Loaded, useLoaded } from "./use";

export type Metric = string | Record<string, unknown>;
export type MetricsRow = Record<string, number | string | boolean | null>;

export interface MetricsAsk {
  metrics: Metric[];
  dimensions?: string[];
  /** Filters beside the page's. */
  filters?: Schemas["Filter"][];
  goals?: Record<string, unknown>[];
  orderBy?: { field: string; direction?: "asc" | "desc" }[];
  limit?: number;
  /** Whether the query is compared, when the page compares. */
  compared?: boolean;
}

export interface MetricsAnswer {
  rows: MetricsRow[];
  /** Rows on all pages. */
  total: number;
  partialBucket: string | null;
  annotations: Schemas["SeriesAnnotation"][];
  warnings: Schemas["ResultWarning"][];
  comparison: { rows: ComparedRow[] } | null;
}

const PATH = "/v1/query/metrics";
/** Rows of a file. */
const MOST_ROWS = 10_000;

/** The whole request, for `Card`; compared when the page compares. */
export function metricsRequest({ compared, ...ask }: MetricsAsk) {
  const { filters } = address.value;
  const all = [...filters, ...(ask.filters ?? [])];
  const body = {
    ...ask,
    ...pageMembers(),
    ...(all.length ? { filters: all } : {}),
    ...(compared && comparison.value !== "none" ? { compare: comparedWith(comparison.value) } : {}),
  };
  return { path: PATH, query: subjectQuery.value, body };
}

/** The answer to a metrics query; `null` sends no request. */
export function useMetricsAnswer(ask: MetricsAsk | null): Loaded<MetricsAnswer> {
  const request = ask && subjectQuery.value.website_id ? metricsRequest(ask) : null;
  return useLoaded(request && JSON.stringify(request), async (signal) => {
    const { path, query, body } = request!;
    const { data, meta, comparison } = await fetchJson<Schemas["MetricsResponse"]>(path, { query, body, signal });
    return {
      rows: data as MetricsRow[],
      total: meta.totalRows,
      partialBucket: meta.partialBucket ?? null,
      annotations: meta.annotations ?? [],
      warnings: meta.warnings ?? [],
      comparison: (comparison as MetricsAnswer["comparison"] | undefined) ?? null,
    };
  });
}

/** The rows of a metrics query; `null` sends no request. */
export function useMetrics(ask: MetricsAsk | null): Loaded<MetricsRow[]> {
  const loaded = useMetricsAnswer(ask);
  return { ...loaded, value: loaded.value?.rows ?? null };
}

/** The service's file of a metrics query, with all rows that it may have. */
export async function metricsFile(ask: MetricsAsk) {
  const { path, query, body } = metricsRequest({ ...ask, compared: false });
  const { meta } = await fetchJson<Schemas["MetricsResponse"]>(path, { query, body: { ...body, limit: 1 } });
  const file = await send(path, { query: { ...query, format: "csv", bom: "true" }, body: { ...body, limit: MOST_ROWS, asOf: meta.versions } });
  return { data: await file.blob(), rows: Math.min(meta.totalRows, MOST_ROWS), total: meta.totalRows };
}
