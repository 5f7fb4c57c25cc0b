// Whether a website without an event in the time range has some at all, and where the last one is.
import { fetchJson } from "../api/request";
import { hasRecords, timezone, website } from "../api/session";
import { useLoaded } from "../api/use";
import { addressWith, follow } from "../state/address";
import { formatInstant } from "../state/format";
import { dayOf } from "../state/period";
import { texts } from "../texts";
import type { Schemas } from "../types";

const t = texts.firstSteps;

/**
 * Which events the website of the page has, where its time range has none: only then they are asked for. The answer stays
 * until the page asks again.
 */
export function useEventsEver(isEmpty: boolean): Schemas["WebsiteStatus"] | null {
  const id = isEmpty && hasRecords() && website.value?.id;
  return useLoaded(id ? `ever ${id}` : null, async (signal) =>
    (await fetchJson<Schemas["WebsiteStatusResponse"]>(`/v1/websites/${id}/status`, { signal })).data).value;
}

/** Where the events are that a time range without any does not have. */
export function LastEvent({ at }: { at: string }) {
  const day = dayOf(Date.parse(at), timezone.value);
  return (
    <p class="notice">{t.nothingThen(formatInstant(at, timezone.value))}
      <a class="button" href={addressWith({ period: { start: day, end: day } })} onClick={follow}>{t.showDay}</a>
    </p>
  );
}
