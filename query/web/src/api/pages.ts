// All records of a list of the API, page by page.
import type { Schemas } from "../types";
import { fetchJson } from "./request";

const PAGE_RECORDS = 100;

export async function fetchAll<Resource>(path: string, query: Record<string, string>, signal?: AbortSignal): Promise<Resource[]> {
  const all: Resource[] = [];
  for (let page = 1; ; page++) {
    const { data, meta } = await fetchJson<{ data: Resource[]; meta: Schemas["PageMeta"] }>(path, {
      query: { ...query, limit: String(PAGE_RECORDS), page: String(page) }, signal,
    });
    all.push(...data);
    if (!data.length || all.length >= meta.total) return all;
  }
}
