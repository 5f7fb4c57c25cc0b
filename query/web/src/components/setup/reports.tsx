// Reports of the website: when each is sent and to whom; how it looks.
import { useState } from "preact/hooks";
import { fetchAll } from "../../api/pages";
import { fetchJson } from "../../api/request";
import { mayWriteRecords, subjectQuery, timezone } from "../../api/session";
import { useLoaded } from "../../api/use";
import { formatHour, formatInstant } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Dialog } from "../dialog";
import { Icon } from "../icon";
import { MenuItem, Popover } from "../popover";
import { toldNames, useChannels } from "../saved_channels";
import { Async } from "../states";
import { MailNote } from "../told_fields";
import { HistoryDialog, type Notice, NoticeDialog } from "./notices";
import { type Report, ReportDialog } from "./report_dialog";
import { useAction } from "./use_action";

const t = moreTexts.reports;

type Opened = { what: "edit" | "history" | "preview" | "send" | "remove"; report: Report } | { what: "new" };

export function Reports() {
  const query = subjectQuery.value;
  const list = useLoaded(JSON.stringify(query), (signal) => fetchAll<Report>("/v1/reports", query, signal));
  const channels = useChannels();
  const [open, setOpen] = useState<Opened | null>(null);
  const [sent, setSent] = useState<{ report: Report; notice: Notice } | null>(null);
  const action = useAction(list.reload);
  const writes = mayWriteRecords();
  const close = () => setOpen(null);
  const saved = () => {
    close();
    list.reload();
  };
  const pause = (report: Report) => action.run(() => fetchJson(pathOf(report), { method: "PATCH", body: { paused: !report.paused } }));
  const send = async (report: Report) => {
    const { data: notice } = await fetchJson<Schemas["NoticeResponse"]>(`${pathOf(report)}/send`, { method: "POST" });
    setSent({ report, notice });
    list.reload();
  };
  const remove = async (report: Report) => {
    await fetchJson(pathOf(report), { method: "DELETE" });
    list.reload();
  };
  return (
    <Card title={t.title} actions={writes && <button type="button" class="button" onClick={() => setOpen({ what: "new" })}><Icon name="plus" />{t.create}</button>}>
      <p class="quiet card-text">{t.hint}</p>
      <MailNote />
      {action.note}
      <Async loaded={list} lines={3} empty={t.none} isEmpty={(all) => !all.length}>
        {(all) => (
          <DataTable label={t.title} rows={all} rowKey={({ id }) => id} columns={[
            { key: "name", label: t.name, className: "address", render: ({ name, paused }) => <>{name}{paused && <> <small class="tag">{t.paused}</small></>}</> },
            { key: "schedule", label: t.schedule, className: "import-word", render: ({ schedule, hour }) => t.scheduled(t.schedules[schedule as keyof typeof t.schedules], formatHour(hour)) },
            { key: "who", extra: true, label: moreTexts.alerts.who, className: "address", render: (report) => toldNames(report, channels.value).join(", ") || moreTexts.alerts.nobody },
            { key: "last", extra: "wide", label: t.last, render: ({ state }) => formatInstant(state?.lastAt ?? null, timezone.value) },
            { key: "next", extra: "wide", label: t.next, render: ({ state }) => formatInstant(state?.nextAt ?? null, timezone.value) },
            { key: "act", label: "", render: (report) => (
              <Popover label={<Icon name="ellipsis" />} name={t.actionsOf(report.name)} className="icon">
                {(closeMenu) => {
                  const item = (text: string, run: () => void) => <MenuItem onClick={() => { closeMenu(); run(); }}>{text}</MenuItem>;
                  return (
                    <>
                      {item(t.preview, () => setOpen({ what: "preview", report }))}
                      {item(t.history, () => setOpen({ what: "history", report }))}
                      {writes && (
                        <>
                          {item(t.edit, () => setOpen({ what: "edit", report }))}
                          {item(t.send, () => setOpen({ what: "send", report }))}
                          {item(report.paused ? t.resume : t.pause, () => pause(report))}
                          <hr />
                          {item(t.remove, () => setOpen({ what: "remove", report }))}
                        </>
                      )}
                    </>
                  );
                }}
              </Popover>) },
          ]} />
        )}
      </Async>
      {(open?.what === "new" || open?.what === "edit") && <ReportDialog report={open.what === "edit" ? open.report : null} close={close} saved={saved} />}
      {open?.what === "preview" && <Preview report={open.report} close={close} />}
      {open?.what === "history" && <HistoryDialog title={t.historyOf(open.report.name)} path={`${pathOf(open.report)}/history`} channels={channels.value} close={close} />}
      {sent && <NoticeDialog title={t.sentOf(sent.report.name)} path={`${pathOf(sent.report)}/history`} notice={sent.notice} channels={channels.value} close={() => setSent(null)} />}
      {open?.what === "send" && (
        <ConfirmDialog title={t.sendOne(open.report.name)} text={t.confirmSend(open.report.recipients.length + open.report.channels.length)} action={t.send} kind="primary"
          run={() => send(open.report)} close={close} />
      )}
      {open?.what === "remove" && (
        <ConfirmDialog title={t.removeOne(open.report.name)} text={t.confirmRemove} action={t.remove} run={() => remove(open.report)} close={close} />
      )}
    </Card>
  );
}

const pathOf = ({ id }: Report): string => `/v1/reports/${id}`;

/** The mail of the last complete period, in a frame that runs no script. */
function Preview({ report, close }: { report: Report; close: () => void }) {
  const path = `${pathOf(report)}/preview?format=`;
  return (
    <Dialog title={t.previewOf(report.name)} close={close} wide>
      <iframe class="preview" src={`${path}html`} sandbox="allow-popups allow-popups-to-escape-sandbox" title={t.previewOf(report.name)} />
      <a class="button preview-file" href={`${path}pdf`} target="_blank" rel="noopener">{t.pdf}<Icon name="external-link" /></a>
    </Dialog>
  );
}
