// What was told: of an alert when it fired and ended, of a report each time it was sent; and whether it arrived.
import { useEffect, useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { timezone } from "../../api/session";
import { useLoaded } from "../../api/use";
import { formatInstant } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { type Column, DataTable } from "../data_table";
import { Dialog } from "../dialog";
import { EmailText } from "../email_text";
import { type Channel, channelName } from "../saved_channels";
import { Async } from "../states";

export type Notice = Schemas["ShownNotice"];
const t = moreTexts.notices;
const SHOWN = "100";
/** How often it is looked whether something arrived, while its dialog is open. */
const LOOK_SECONDS = 2;
/** From then on it matters when something is tried. */
const SOON_MS = 60_000;

interface Of {
  title: string;
  /** Of the history of the alert or report. */
  path: string;
  channels: Channel[] | null;
  close: () => void;
}

const useHistory = (path: string, seconds = 0) => useLoaded(path, (signal) => fetchJson<Schemas["NoticesResponse"]>(path, { query: { limit: SHOWN }, signal }), seconds);

/** All of one alert or report, newest first. */
export function HistoryDialog({ title, path, channels, value, close }: Of & {
  /** The words of its numbers; a report has none. */
  value?: (number: number | null) => string;
}) {
  return (
    <Dialog title={title} close={close} wide>
      <Async loaded={useHistory(path)} lines={4} empty={t.none} isEmpty={({ data }) => !data.length}>
        {({ data }) => <Notices label={title} notices={data} channels={channels} value={value} />}
      </Async>
    </Dialog>
  );
}

/** One that was just made, until it has arrived. */
export function NoticeDialog({ title, path, notice, channels, close }: Of & { notice: Notice }) {
  const [isWaiting, setWaiting] = useState(true);
  const shown = useHistory(path, isWaiting ? LOOK_SECONDS : 0).value?.data.find(({ id }) => id === notice.id) ?? notice;
  const waits = shown.deliveries.some(isUnderWay);
  useEffect(() => setWaiting(waits), [waits]);
  return (
    <Dialog title={title} close={close}>
      {shown.text && <p>{shown.text}</p>}
      <div role="status"><Deliveries of={shown} channels={channels} /></div>
    </Dialog>
  );
}

/** Not tried yet, or just being tried. */
const isUnderWay = ({ state, problem }: Notice["deliveries"][number]): boolean => (state === "due" || state === "trying") && problem === null;

function Notices({ label, notices, channels, value }: { label: string; notices: Notice[]; channels: Channel[] | null; value?: (number: number | null) => string }) {
  const numbers: Column<Notice>[] = value ? [
    { key: "value", label: t.value, number: true, render: (notice) => value(notice.value) },
    { key: "reference", extra: true, label: t.reference, number: true, render: ({ reference }) => value(reference) },
  ] : [];
  return (
    <DataTable label={label} rows={notices} rowKey={({ id }) => id} columns={[
      { key: "when", label: t.when, className: "address", render: ({ event, createdAt, text }) => (
        <>{formatInstant(createdAt, timezone.value)} <b>{t.events[event]}</b><small class="notice-text">{text}</small></>
      ) },
      ...numbers,
      { key: "told", label: t.told, className: "address", render: (notice) => <Deliveries of={notice} channels={channels} /> },
    ]} />
  );
}

function Deliveries({ of: { deliveries }, channels }: { of: Notice; channels: Channel[] | null }) {
  if (!deliveries.length) return <span class="quiet">{t.nobody}</span>;
  return (
    <ul class="deliveries">
      {deliveries.map((delivery, i) => {
        const { to, kind, state, dueAt, deliveredAt, problem, attempts } = delivery;
        const isSending = attempts > 0 && isUnderWay(delivery);
        const at = deliveredAt ?? (!isSending && dueAt && Date.parse(dueAt) > Date.now() + SOON_MS ? dueAt : null);
        return (
          <li key={i}>
            {kind === "email" ? <EmailText text={to} /> : channelName(to, channels)}{" "}
            <small class={state === "failed" ? "failed-state" : undefined}>
              {isSending ? t.sending : t.states[state as keyof typeof t.states]}{at && ` ${formatInstant(at, timezone.value)}`}{problem && `: ${problem}`}
            </small>
          </li>
        );
      })}
    </ul>
  );
}
