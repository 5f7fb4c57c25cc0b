// Alerts of the website: what each watches, whether it fires, whom it tells.
import { useState } from "preact/hooks";
import { fetchAll } from "../../api/pages";
import { fetchJson } from "../../api/request";
import { mayWriteRecords, subjectQuery, timezone } from "../../api/session";
import { useLoaded } from "../../api/use";
import { draftOf, FOREVER, isForever, MUTES, mutedUntil } from "../../state/alert_rules";
import { formatInstant } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { IconName, Schemas } from "../../types";
import { AlertDialog } from "../alert_dialog";
import { ruleText, valueOf } from "../alert_words";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Icon } from "../icon";
import { MenuItem, Popover } from "../popover";
import { type Channel, isTold, toldNames, useChannels } from "../saved_channels";
import { useExplorations } from "../saved_explorations";
import { type Goal, useGoals } from "../saved_goals";
import { Async, Failed } from "../states";
import { MailNote, NobodyTold } from "../told_fields";
import { HistoryDialog, type Notice, NoticeDialog } from "./notices";
import { useAction } from "./use_action";

const t = moreTexts.alerts;
const HOUR_MS = 3_600_000;
type Alert = Schemas["AlertResource"];

type Opened = { what: "edit" | "history" | "remove"; alert: Alert } | { what: "new" } | { what: "tested"; alert: Alert; notice: Notice };

export function Alerts() {
  const query = subjectQuery.value;
  const list = useLoaded(JSON.stringify(query), (signal) => fetchAll<Alert>("/v1/alerts", query, signal));
  const channels = useChannels();
  const goals = useGoals();
  const explorations = useExplorations();
  const [open, setOpen] = useState<Opened | null>(null);
  const action = useAction(list.reload);
  const known = { goals: goals.value ?? [], explorations: explorations.value ?? [] };
  const writes = mayWriteRecords();
  const close = () => setOpen(null);
  const saved = () => {
    close();
    list.reload();
  };
  const mute = (alert: Alert, until: string | null) => action.run(() => fetchJson(pathOf(alert), { method: "PATCH", body: { mutedUntil: until } }));
  const test = (alert: Alert) => action.run(async () => {
    const { data: notice } = await fetchJson<Schemas["NoticeResponse"]>(`${pathOf(alert)}/test`, { method: "POST" });
    setOpen({ what: "tested", alert, notice });
  }, t.testing);
  const remove = async (alert: Alert) => {
    await fetchJson(pathOf(alert), { method: "DELETE" });
    list.reload();
  };
  const later = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();
  return (
    <Card title={t.title} actions={writes && goals.value && explorations.value && (
      <button type="button" class="button" onClick={() => setOpen({ what: "new" })}><Icon name="plus" />{t.create}</button>)}>
      <p class="quiet card-text">{t.hint}</p>
      <MailNote />
      {action.note}
      <Async loaded={list} lines={3} empty={t.none} isEmpty={(all) => !all.length}>
        {(all) => (
          <DataTable label={t.title} rows={all} rowKey={({ id }) => id} columns={[
            { key: "name", label: moreTexts.setup.name, className: "address", render: (alert) => <Named alert={alert} rule={ruleText(draftOf(alert), known.goals)} /> },
            { key: "state", label: t.state, className: "import-word", render: (alert) => <State alert={alert} channels={channels.value} goals={known.goals} /> },
            { key: "who", extra: true, label: t.who, className: "address", render: (alert) => toldNames(alert, channels.value).join(", ") || t.nobody },
            { key: "act", label: "", render: (alert) => (
              <Popover label={<Icon name="ellipsis" />} name={t.actionsOf(alert.name)} className="icon">
                {(closeMenu) => {
                  const item = (text: string, run: () => void) => <MenuItem key={text} onClick={() => { closeMenu(); run(); }}>{text}</MenuItem>;
                  return (
                    <>
                      {item(t.history, () => setOpen({ what: "history", alert }))}
                      {writes && (
                        <>
                          {item(t.edit, () => setOpen({ what: "edit", alert }))}
                          {item(t.test, () => test(alert))}
                          <hr />
                          {mutedUntil(alert) ? item(t.unmute, () => mute(alert, null)) : (
                            <>
                              {(Object.keys(MUTES) as (keyof typeof MUTES)[]).map((each) => item(t.mutes[each], () => mute(alert, later(MUTES[each]))))}
                              {item(t.muteForever, () => mute(alert, FOREVER))}
                            </>
                          )}
                          <hr />
                          {item(t.remove, () => setOpen({ what: "remove", alert }))}
                        </>
                      )}
                    </>
                  );
                }}
              </Popover>) },
          ]} />
        )}
      </Async>
      {(open?.what === "new" || open?.what === "edit") && <AlertDialog alert={open.what === "edit" ? open.alert : undefined} known={known} close={close} saved={saved} />}
      {open?.what === "history" && (
        <HistoryDialog title={t.historyOf(open.alert.name)} path={`${pathOf(open.alert)}/history`} value={(number) => valueOf(open.alert, number, known.goals)} channels={channels.value} close={close} />
      )}
      {open?.what === "tested" && <NoticeDialog title={t.testOf(open.alert.name)} path={`${pathOf(open.alert)}/history`} notice={open.notice} channels={channels.value} close={close} />}
      {open?.what === "remove" && (
        <ConfirmDialog title={t.removeOne(open.alert.name)} text={t.confirmRemove} action={t.remove} run={() => remove(open.alert)} close={close} />
      )}
      {[goals, explorations].map(({ error, reload }, i) => error && <Failed key={i} error={error} retry={reload} />)}
    </Card>
  );
}

const pathOf = ({ id }: Alert): string => `/v1/alerts/${id}`;

const Named = ({ alert: { name }, rule }: { alert: Alert; rule: string }) => <>{name}{rule !== name && <small class="alert-about">{rule}</small>}</>;

const STATE_ICONS: Record<NonNullable<Alert["state"]>["state"], IconName> = { ok: "circle-check", firing: "triangle-alert", waiting: "clock", problem: "info" };

function State({ alert, channels, goals }: { alert: Alert; channels: Channel[] | null; goals: Goal[] }) {
  const { state, since, problem, value } = alert.state!;
  const { quietHours } = alert;
  const until = mutedUntil(alert);
  const instant = formatInstant(since, timezone.value);
  const words = state === "firing" ? t.states.firing(instant) : state === "problem" ? t.states.problem(problem ?? "") : t.states[state];
  return (
    <>
      <span class={`alert-state ${state}`}><Icon name={STATE_ICONS[state]} size={14} />{words}</span>
      {value !== null && <small class="alert-about">{t.last(valueOf(alert, value, goals))}</small>}
      {quietHours && <small class="alert-about">{t.quiet(quietHours.replace("-", "–"))}</small>}
      {until && <small class="alert-about">{isForever(until) ? t.mutedForever : t.muted(formatInstant(until, timezone.value))}</small>}
      {!isTold(alert, channels) && <NobodyTold />}
    </>
  );
}
