// What was told: of an alert when it fired and ended, of a report each time it was sent; and whether it arrived.
import type { Delivery, Notice } from "../../api/notices";
import { fetchJson } from "../../api/request";
import { timezone } from "../../api/session";
import { useLoaded } from "../../api/use";
import { formatInstant } from "../../state/format";
import { moreTexts } from "../../texts.more";
import { type Column, DataTable } from "../data_table";
import { Dialog } from "../dialog";
import { EmailText } from "../email_text";
import { Async } from "../states";

const t = moreTexts.notices;
const SHOWN = "100";

/** All of one alert or report, newest first. */
export function HistoryDialog({ title, path, value, close }: {
  title: string;
  path: string;
  /** The words of its numbers; a report has none. */
  value?: (number: number | null) => string;
  close: () => void;
}) {
  const list = useLoaded(path, (signal) => fetchJson<{ data: Notice[] }>(path, { query: { limit: SHOWN }, signal }));
  return (
    <Dialog title={title} close={close} wide>
      <Async loaded={list} lines={4} empty={t.none} isEmpty={({ data }) => !data.length}>{({ data }) => <Notices label={title} notices={data} value={value} />}</Async>
    </Dialog>
  );
}

/** One that was just made. */
export const NoticeDialog = ({ title, notice, close }: { title: string; notice: Notice; close: () => void }) => (
  <Dialog title={title} close={close}>
    <p>{notice.text}</p>
    <Deliveries of={notice} />
  </Dialog>
);

function Notices({ label, notices, value }: { label: string; notices: Notice[]; value?: (number: number | null) => string }) {
  const numbers: Column<Notice>[] = value ? [
    { key: "value", label: t.value, number: true, render: (notice) => value(notice.value) },
    { key: "reference", extra: true, label: t.reference, number: true, render: ({ reference }) => value(reference) },
  ] : [];
  return (
    <DataTable label={label} rows={notices} rowKey={({ id }) => id} columns={[
      { key: "when", label: t.when, className: "address", render: ({ event, createdAt, text }) => <>{formatInstant(createdAt, timezone.value)} <b>{t.events[event]}</b><small class="notice-text">{text}</small></> },
      ...numbers,
      { key: "told", label: t.told, className: "address", render: (notice) => <Deliveries of={notice} /> },
    ]} />
  );
}

function Deliveries({ of: { deliveries } }: { of: Notice }) {
  if (!deliveries.length) return <span class="quiet">{t.nobody}</span>;
  return <ul class="deliveries">{deliveries.map((delivery, i) => <li key={i}><Told delivery={delivery} /></li>)}</ul>;
}

function Told({ delivery: { to, kind, state, dueAt, deliveredAt, problem } }: { delivery: Delivery }) {
  const at = state === "delivered" ? deliveredAt : state === "failed" ? null : dueAt;
  return (
    <>
      {kind === "email" ? <EmailText text={to} /> : to} <small class={state === "failed" ? "failed-state" : undefined}>{t.states[state]}{at && ` ${formatInstant(at, timezone.value)}`}{problem && `: ${problem}`}</small>
    </>
  );
}
