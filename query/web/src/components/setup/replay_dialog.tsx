// Sends items that were not stored again: first a dry run, which says what would become of each.
import { useEffect, useRef, useState } from "preact/hooks";
import { fetchJson, type RequestError } from "../../api/request";
import { subjectQuery } from "../../api/session";
import { formatNumber } from "../../state/format";
import { texts } from "../../texts";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { DataTable } from "../data_table";
import { Dialog } from "../dialog";
import { Facts } from "../facts";
import { messageOf } from "../states";

type Reason = Schemas["QuarantineReason"];
type Replay = Schemas["ReplayResource"];
const t = moreTexts.setup.replay;
const PATH = "/v1/quarantine/replays";
const PAUSE_MS = 1000;
/** What the remedy of a reason would set. */
const SETS = /--set '([^']+)'/g;
const isOver = ({ state }: Replay): boolean => state === "planned" || state === "sent";

export function ReplayDialog({ reason, days, close, done }: {
  reason: Reason;
  days: number;
  close: () => void;
  /** Items were sent. */
  done: () => void;
}) {
  const [set, setSet] = useState(() => [...reason.remedy.matchAll(SETS)].map(([, one]) => one).join("\n"));
  const [replay, setReplay] = useState<Replay | null>(null);
  const [error, setError] = useState("");
  const closed = useRef(false);
  useEffect(() => () => void (closed.current = true), []);
  const busy = replay !== null && !isOver(replay) && !error;
  const run = async (dryRun: boolean) => {
    setError("");
    const body = {
      websiteId: subjectQuery.value.website_id, days, stage: reason.stage, reasonContains: reason.reason,
      set: set.split("\n").map((line) => line.trim()).filter(Boolean), dryRun,
    };
    try {
      let { data: one } = await fetchJson<{ data: Replay }>(PATH, { body });
      setReplay(one);
      while (!isOver(one) && !closed.current) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        one = (await fetchJson<{ data: Replay }>(`${PATH}/${one.id}`)).data;
        if (!closed.current) setReplay(one);
      }
      if (!dryRun && isOver(one)) done();
    } catch (problem) {
      setError(messageOf(problem as RequestError));
    }
  };
  const attempt = (event: Event) => {
    event.preventDefault();
    void run(true);
  };
  const sendable = replay?.state === "planned" ? replay.report.sendable ?? 0 : 0;
  return (
    <Dialog title={t.title} close={close} wide>
      <p class="quiet">{reason.reason}. {reason.remedy}</p>
      <form class="form" onSubmit={attempt}>
        <label>{t.set}
          <textarea name="set" rows={2} value={set} placeholder="properties.total = number"
            onInput={(e) => { setSet(e.currentTarget.value); setReplay(null); }} />
        </label>
        {error && <p class="error" role="alert">{error}</p>}
        {replay && <Outcome replay={replay} />}
        <footer>
          <button type="button" class="button" onClick={close}>{replay?.state === "sent" ? texts.dialog.close : texts.filters.cancel}</button>
          {replay?.state !== "sent" && <button type="submit" class="button primary" disabled={busy}>{t.attempt}</button>}
          {sendable > 0 && <button type="button" class="button danger" onClick={() => void run(false)}>{t.send(sendable, formatNumber(sendable))}</button>}
        </footer>
      </form>
    </Dialog>
  );
}

function Outcome({ replay: { state, report, outcomes = [], samples = [] } }: { replay: Replay }) {
  const { items, sendable, withoutSender, remaining, problem } = report;
  const isSent = state === "sent";
  const number = (value: number | undefined): string | undefined => (value ? formatNumber(value) : undefined);
  if (state !== "planned" && !isSent) return <p role="status">{problem ?? t.waits}</p>;
  return (
    <div role="status">
      <Facts facts={[
        [t.items, formatNumber(items ?? 0)],
        [isSent ? t.sent : t.sendable, formatNumber(sendable ?? 0)],
        [t.withoutSender, number(withoutSender)],
        [t.remaining, number(remaining)],
      ]} />
      {isSent && <p>{t.after}</p>}
      {outcomes.length > 0 && (
        <DataTable label={t.outcome} rows={outcomes} columns={[
          { key: "outcome", label: t.outcome, className: "breakable", render: (one) => one.problem ?? (isSent ? t.sent : t.sendable) },
          { key: "items", label: moreTexts.setup.items, number: true, render: (one) => formatNumber(one.items) },
        ]} />
      )}
      {!isSent && samples.length > 0 && (
        <DataTable label={t.sample} rows={samples} columns={[
          { key: "item", label: t.sample, className: "breakable", render: (one) => (one.item ? <code>{one.item}</code> : one.problem) },
        ]} />
      )}
    </div>
  );
}
