// The script of a website, and the check that looks again until its first event is stored.
import { useEffect, useState } from "preact/hooks";
import { fetchJson } from "../api/request";
import { timezone } from "../api/session";
import { type Loaded, useLoaded } from "../api/use";
import { formatInstant, formatNumber } from "../state/format";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";
import { Snippet } from "./request_dialog";
import { Async } from "./states";

export type Status = Schemas["WebsiteStatus"];
const t = moreTexts.tag;
const WAITING_SECONDS = 3;
const RECEIVED_SECONDS = 15;

/** Which events of the website are stored, asked again every few seconds. */
export function useStatus(id: string): Loaded<Status> {
  const [received, setReceived] = useState(false);
  const status = useLoaded(`status ${id}`, async (signal) =>
    (await fetchJson<Schemas["WebsiteStatusResponse"]>(`/v1/websites/${id}/status`, { signal })).data,
  received ? RECEIVED_SECONDS : WAITING_SECONDS);
  const arrived = status.value?.received ?? false;
  useEffect(() => setReceived(arrived), [arrived]);
  return status;
}

export function Tag({ id, label = t.label }: { id: string; label?: string }) {
  const snippet = useLoaded(`tag ${id}`, (signal) => fetchJson<Schemas["SnippetResponse"]>(`/v1/websites/${id}/snippet`, { signal }));
  return <Async loaded={snippet} lines={2}>{({ data }) => <Snippet label={label} text={data.script} />}</Async>;
}

/** Turns by itself when the first event is there. */
export function Arrival({ status }: { status: Loaded<Status> }) {
  return (
    <Async loaded={status} lines={1}>
      {({ received, events, botEvents, lastEventAt }) => (
        <p class={`arrival ${received ? "received" : ""}`} role="status">
          <span class="arrival-dot" aria-hidden="true" />
          <span>
            {received ? t.received(events, formatNumber(events), formatInstant(lastEventAt, timezone.value, true)) : t.waiting}
            {received && botEvents === events && ` ${t.ofBots}`}
          </span>
        </p>
      )}
    </Async>
  );
}
