// Makes or changes a report.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { me, subjectQuery } from "../../api/session";
import { address } from "../../state/address";
import { addressesIn } from "../../state/alert_rules";
import type { Filter } from "../../state/filters";
import { formatHour } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Dialog } from "../dialog";
import { filterText } from "../filter_text";
import { FormFooter } from "../form_footer";
import { useBoards } from "../saved_boards";
import { useExplorations } from "../saved_explorations";
import { ToldFields } from "../told_fields";
import { useForm } from "../use_form";

export type Report = Schemas["ReportResource"];
const t = moreTexts.reports;
const PATH = "/v1/reports";
const SCHEDULES = ["daily", "weekly", "monthly"] as const;
const ATTACHED = ["none", "csv", "pdf"] as const;
const LABELS = { name: t.name, schedule: t.schedule, hour: t.hour, explorations: t.explorations, board: t.board, recipients: moreTexts.alerts.recipients, channels: moreTexts.alerts.channels };

export function ReportDialog({ report, close, saved }: {
  /** Null makes one. */
  report: Report | null;
  close: () => void;
  saved: () => void;
}) {
  const [values, setValues] = useState(() => ({
    name: report?.name ?? "", schedule: report?.schedule ?? "weekly", hour: report?.hour ?? 7, explorations: report?.explorations ?? [], board: report?.board ?? "",
    attach: report?.attach ?? "none", compare: report?.compare ?? true, isFiltered: Boolean(report?.filters.length),
    recipients: report?.recipients.join(", ") ?? me.value?.person?.email ?? "", channels: report?.channels ?? [],
  }));
  const explorations = useExplorations();
  const boards = useBoards();
  const { error, busy, submit } = useForm(LABELS);
  const set = (part: Partial<typeof values>) => setValues((old) => ({ ...old, ...part }));
  const filters = (report?.filters.length ? report.filters : address.value.filters) as Filter[];
  const send = async () => {
    const { isFiltered, recipients, board, ...members } = values;
    const body = { ...members, board: board || null, recipients: addressesIn(recipients), filters: isFiltered ? filters : [] };
    await fetchJson(report ? `${PATH}/${report.id}` : PATH, { method: report ? "PATCH" : "POST", query: report ? {} : subjectQuery.value, body });
    saved();
  };
  const toggle = (id: string, isChosen: boolean) => set({ explorations: [...values.explorations.filter((each) => each !== id), ...(isChosen ? [id] : [])] });
  const isDeleted = (id: string) => !explorations.value!.some((each) => each.id === id);
  const offered = explorations.value ? [...explorations.value, ...(report?.explorations ?? []).filter(isDeleted).map((id) => ({ id, name: t.deletedExploration }))] : [];
  return (
    <Dialog title={report ? t.editOne(report.name) : t.create} close={close}>
      <form class="form" onSubmit={submit(send)}>
        <label>{t.name}<input name="name" required maxLength={255} value={values.name} onInput={(e) => set({ name: e.currentTarget.value })} /></label>
        <div class="form grid">
          <label>{t.schedule}
            <select name="schedule" value={values.schedule} onChange={(e) => set({ schedule: e.currentTarget.value })}>
              {SCHEDULES.map((each) => <option key={each} value={each}>{t.schedules[each]}</option>)}
            </select>
          </label>
          <label>{t.hour}
            <select name="hour" value={values.hour} onChange={(e) => set({ hour: Number(e.currentTarget.value) })}>
              {Array.from({ length: 24 }, (_, hour) => <option key={hour} value={hour}>{formatHour(hour)}</option>)}
            </select>
          </label>
        </div>
        {offered.length > 0 && (
          <fieldset>
            <legend>{t.explorations}</legend>
            {offered.map(({ id, name }) => (
              <label key={id} class="check"><input type="checkbox" name="explorations" value={id} checked={values.explorations.includes(id)} onChange={(e) => toggle(id, e.currentTarget.checked)} />{name}</label>
            ))}
          </fieldset>
        )}
        {boards.value && boards.value.length > 0 && (
          <label>{t.board}
            <select name="board" value={values.board} onChange={(e) => set({ board: e.currentTarget.value })}>
              {[{ id: "", name: t.noBoard }, ...boards.value].map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
            </select>
          </label>
        )}
        {filters.length > 0 && (
          <label class="check"><input type="checkbox" name="filters" checked={values.isFiltered} onChange={(e) => set({ isFiltered: e.currentTarget.checked })} />{t.filters(filters.map(filterText).join(", "))}</label>
        )}
        <label class="check"><input type="checkbox" name="compare" checked={values.compare} onChange={(e) => set({ compare: e.currentTarget.checked })} />{t.compare}</label>
        <ToldFields recipients={values.recipients} channels={values.channels} hint={t.channelsHint} change={set} />
        <label>{t.attach}
          <select name="attach" value={values.attach} onChange={(e) => set({ attach: e.currentTarget.value })}>
            {ATTACHED.map((each) => <option key={each} value={each}>{t.attached[each]}</option>)}
          </select>
        </label>
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={moreTexts.setup.save} close={close} busy={busy} />
      </form>
    </Dialog>
  );
}
