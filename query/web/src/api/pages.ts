// Lists of the API, page by page.
import type { Schemas } from "../types";
import { fetchJson } from "./request";

const PAGE_RECORDS = 100;

interface Page<Resource> {
  data: Resource[];
  meta: Schemas["PageMeta"];
}

const fetchPage = <Resource>(path: string, query: Record<string, string>, page: number, signal?: AbortSignal) =>
  fetchJson<Page<Resource>>(path, { query: { ...query, limit: String(PAGE_RECORDS), page: String(page) }, signal });

/** All records. */
export async function fetchAll<Resource>(path: string, query: Record<string, string>, signal?: AbortSignal): Promise<Resource[]> {
  const all: Resource[] = [];
  for (let page = 1; ; page++) {
    const { data, meta } = await fetchPage<Resource>(path, query, page, signal);
    all.push(...data);
    if (!data.length || all.length >= meta.total) return all;
  }
}

/** The newest 100 to 199 records of a list that begins with the oldest, newest first. */
export async function fetchNewest<Resource>(path: string, query: Record<string, string>, signal?: AbortSignal): Promise<Resource[]> {
  const first = await fetchPage<Resource>(path, query, 1, signal);
  const last = Math.ceil(first.meta.total / PAGE_RECORDS);
  const rest = await Promise.all([last - 1, last].filter((page) => page > 1).map((page) => fetchPage<Resource>(path, query, page, signal)));
  return [...(last > 2 ? [] : first.data), ...rest.flatMap(({ data }) => data)].reverse();
}
