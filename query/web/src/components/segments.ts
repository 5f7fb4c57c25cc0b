// The saved segments of the website.
import { fetchJson } from "../api/request";
import type { Schemas } from "../api/types";
import { useLoaded } from "../api/use";
import { subjectQuery } from "../app/session";

/** `needed`: whether they are asked for. */
export function useSegments(needed = true) {
  const query = { ...subjectQuery.value, limit: "100" };
  return useLoaded(needed ? `segments ${JSON.stringify(query)}` : null, (signal) =>
    fetchJson<Schemas["SegmentListResponse"]>("/v1/segments", { query, signal }));
}
