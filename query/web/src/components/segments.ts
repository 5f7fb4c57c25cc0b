// The saved segments of the website.
import { fetchAll } from "../api/pages";
import { hasRecords, subjectQuery } from "../api/session";
import { useLoaded } from "../api/use";
import type { Schemas } from "../types";

/** `needed`: whether they are asked for. */
export function useSegments(needed = true) {
  const query = subjectQuery.value;
  return useLoaded(needed && hasRecords() ? `segments ${JSON.stringify(query)}` : null, (signal) =>
    fetchAll<Schemas["SegmentResource"]>("/v1/segments", query, signal));
}
