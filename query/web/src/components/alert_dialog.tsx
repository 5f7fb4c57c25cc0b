// Makes or changes an alert: a ready-made beginning, then when it fires and whom it tells.
import { useEffect, useRef, useState } from "preact/hooks";
import { fetchJson } from "../api/request";
import { me, subjectQuery, timezone } from "../api/session";
import {
  type AlertKnown, bodyOfDraft, type Choice, columnsOfWatch, type Condition, conditionsOf, type Draft, draftOf, draftOfPreset, type Preset, PRESETS, type Reference,
  REFERENCES, THRESHOLDS, type Watch, widthsOf,
} from "../state/alert_rules";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";
import { boundLabel, ruleText, totalText } from "./alert_words";
import { Dialog } from "./dialog";
import { FormFooter } from "./form_footer";
import { Icon } from "./icon";
import { ToldFields } from "./told_fields";
import { useForm } from "./use_form";

const t = moreTexts.alerts;
const PATH = "/v1/alerts";
const NAME_LENGTH = 255;
const LABELS = { name: t.name, threshold: t.thresholds.above!, recipients: t.recipients, channels: t.channels, quietHours: t.quietFrom, every: t.every, column: t.column };

/** What the form is about: a preset with one of its choices, or an alert that is there. */
interface Begun {
  preset: Preset | null;
  draft: Draft;
}

export function AlertDialog({ alert, watch, exploration, known, close, saved }: {
  /** The one that is changed. */
  alert?: Schemas["AlertResource"];
  /** What a new one watches; without it, presets are offered. */
  watch?: Watch;
  /** Name of the saved exploration that a new one watches. */
  exploration?: string;
  known: AlertKnown;
  close: () => void;
  saved: () => void;
}) {
  const email = me.value?.person?.email ?? "";
  const [begun, setBegun] = useState<Begun | null>(() => {
    if (alert) return { preset: null, draft: draftOf(alert) };
    return watch ? { preset: null, draft: draftOfPreset({ conditions: conditionsOf(watch), every: "day" }, { watch }, email) } : null;
  });
  const begin = (preset: Preset) => setBegun({ preset, draft: draftOfPreset(preset, preset.choices(known)[0]!, email) });
  return (
    <Dialog title={alert ? t.editOne(alert.name) : t.create} close={close} wide={!begun}>
      {begun
        ? <AlertForm key={begun.preset?.id} {...begun} exploration={exploration} id={alert?.id} known={known} close={close} saved={saved} back={begun.preset ? () => setBegun(null) : undefined} />
        : <Presets known={known} begin={begin} />}
    </Dialog>
  );
}

const Presets = ({ known, begin }: { known: AlertKnown; begin: (preset: Preset) => void }) => (
  <>
    <p class="quiet">{t.begin}</p>
    <div class="examples">
      {PRESETS.map((preset) => {
        const isEmpty = !preset.choices(known).length;
        return (
          <button key={preset.id} type="button" class="example" disabled={isEmpty} onClick={() => begin(preset)}>
            <Icon name={preset.icon} size={18} />
            <span><b>{t.presets[preset.id]}</b><small>{isEmpty ? t.noChoices : t.presetHints[preset.id]}</small></span>
          </button>
        );
      })}
    </div>
  </>
);

function AlertForm({ preset, draft: start, exploration, id, known, close, saved, back }: Begun & {
  exploration?: string;
  /** Of the alert that is changed. */
  id?: string;
  known: AlertKnown;
  close: () => void;
  saved: () => void;
  back?: () => void;
}) {
  const [draft, setDraft] = useState(start);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("select, input")?.focus(), []); // the button that began it is gone
  const { error, busy, submit } = useForm(LABELS);
  const set = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }));
  const { watch, condition, threshold } = draft;
  const rule = ruleText(draft, known.goals);
  const total = totalText(draft);
  const choices = preset?.choices(known) ?? [];
  const columns = columnsOfWatch(watch, known);
  const conditions = preset && preset.id !== "exploration" ? preset.conditions : conditionsOf(watch);
  const [chosen, setChosen] = useState(choices[0]?.id);
  const choose = (choice: Choice) => {
    const fitting = conditionsOf(choice.watch);
    setChosen(choice.id);
    set({
      watch: choice.watch, condition: fitting.includes(condition) ? condition : fitting[0]!, ...(choice.threshold === undefined ? {} : { threshold: String(choice.threshold) }),
    });
  };
  const about = preset?.id === "exploration" ? choices.find((choice) => choice.id === chosen)?.label : exploration;
  const usualName = about ? t.named(about, rule).slice(0, NAME_LENGTH) : rule;
  const send = async () => {
    const body = { name: draft.name.trim() || usualName, ...bodyOfDraft(draft) };
    await fetchJson(id ? `${PATH}/${id}` : PATH, { method: id ? "PATCH" : "POST", query: id ? {} : subjectQuery.value, body });
    saved();
  };
  return (
    <form ref={form} class="form" onSubmit={submit(send)}>
      {back && <button type="button" class="quiet-button alert-back" onClick={back}><Icon name="arrow-left" />{t.back}</button>}
      <p class="alert-rule" role="status">{usualName}</p>
      {total && <small class="quiet">{total}</small>}
      {preset && (choices.length > 1 || Object.hasOwn(t.choices, preset.id)) && (
        <Select name="choice" label={t.choices[preset.id] ?? t.choice} value={chosen!}
          options={choices.map(({ id: value, label }) => [value, label])} choose={(value) => choose(choices.find((choice) => choice.id === value)!)} />
      )}
      {columns.length > 1 && (
        <Select name="column" label={t.column} value={watch.column ?? columns[0]!.name} options={columns.map(({ name, label }) => [name, label])}
          choose={(column) => set({ watch: { ...watch, column } })} />
      )}
      <div class="form grid">
        {conditions.length > 1 && (
          <Select name="condition" label={t.condition} value={condition} options={conditions.map((each) => [each, t.conditions[each]])}
            choose={(each) => set({ condition: each, threshold: thresholdFor(each, draft), every: widthsOf(each).includes(draft.every) ? draft.every : "hour" })} />
        )}
        {Object.hasOwn(THRESHOLDS, condition) && (
          <label>{boundLabel(draft)}
            <input name="threshold" type="number" step="any" min={THRESHOLDS[condition] ? 0 : undefined} required value={threshold} onInput={(e) => set({ threshold: e.currentTarget.value })} />
            {(condition === "spike" || condition === "drop") && <small>{t.deviationsHint}</small>}
          </label>
        )}
        {(condition === "rises" || condition === "falls") && (
          <Select name="against" label={t.against} value={draft.against} options={referencesOf(draft).map((each) => [each, (each === "week" ? t.weekBefore : t.before)[draft.every]])}
            choose={(against) => set({ against })} />
        )}
        {!watch.signal && (
          <Select name="every" label={t.every} value={draft.every} options={widthsOf(condition).map((each) => [each, t.widths[each]])} choose={(every) => set({ every })} />
        )}
      </div>
      <ToldFields recipients={draft.recipients} channels={draft.channels} change={set} />
      <div class="form grid">
        <label>{t.quietFrom}<input name="quietFrom" type="time" required={Boolean(draft.quietTo)} value={draft.quietFrom} onInput={(e) => set({ quietFrom: e.currentTarget.value })} /></label>
        <label>{t.quietTo}<input name="quietTo" type="time" required={Boolean(draft.quietFrom)} value={draft.quietTo} onInput={(e) => set({ quietTo: e.currentTarget.value })} /></label>
      </div>
      <small class="quiet">{t.quietHint(timezone.value)}</small>
      <label class="check"><input type="checkbox" name="recovery" checked={draft.recovery} onChange={(e) => set({ recovery: e.currentTarget.checked })} />{t.recovery}</label>
      <label>{t.name}
        <input name="name" maxLength={NAME_LENGTH} placeholder={usualName} value={draft.name} onInput={(e) => set({ name: e.currentTarget.value })} />
        <small>{t.nameHint}</small>
      </label>
      {error && <p class="error" role="alert">{error}</p>}
      <FormFooter submit={t.save} close={close} busy={busy} />
    </form>
  );
}

/** Of weeks, both are the same one. */
const referencesOf = ({ every, against }: Draft): readonly Reference[] => (every === "week" ? [against] : REFERENCES);

/** A number that was typed stays while it can mean the same. */
const thresholdFor = (chosen: Condition, { condition, threshold }: Draft): string =>
  (THRESHOLDS[condition] === THRESHOLDS[chosen] ? threshold : String(THRESHOLDS[chosen] || ""));

function Select<Value extends string>({ name, label, value, options, choose }: {
  name: string;
  label: string;
  value: Value;
  options: [Value, string][];
  choose: (value: Value) => void;
}) {
  return (
    <label>{label}
      <select name={name} value={value} onChange={(e) => choose(e.currentTarget.value as Value)}>
        {options.map(([each, text]) => <option key={each} value={each}>{text}</option>)}
      </select>
    </label>
  );
}
