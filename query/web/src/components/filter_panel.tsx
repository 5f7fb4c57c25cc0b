// The filters of the page in one panel: conditions that are made and changed together, and saved segments.
import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { fetchJson } from "../api/request";
import { hasRecords, mayWriteRecords, subjectQuery, timezone } from "../api/session";
import { address, go } from "../state/address";
import { kindOfField, operatorsOf } from "../state/dimensions";
import { dayOfValue, filterOfRow, isBare, isComplete, type Part, type Row, rowOf } from "../state/filter_rows";
import type { Filter } from "../state/filters";
import { texts } from "../texts";
import { ConfirmDialog } from "./confirm_dialog";
import { DateField } from "./date_field";
import { DimensionPicker } from "./dimension_picker";
import { fieldName, filterText, operatorName } from "./filter_text";
import { formMessage } from "./form_message";
import { Icon } from "./icon";
import { keepPlaced } from "./popover";
import { useSegments } from "./segments";
import { Failed } from "./states";
import { type Property, useProperties } from "./suggestions";
import { ValueInput } from "./value_input";

const t = texts.filters;
const newPart = (field = "path"): Part => ({ field, operator: operatorsOf(field)[0]!, values: [] });

/** The input of a condition's values. */
const VALUES = ":is(.values, .date-field) input, .filter-part > input";

/** A row with the name by which it stays the same while others come and go. */
interface KeyedRow extends Row {
  key: number;
}
let lastKey = 0;
const keyed = (row: Row): KeyedRow => ({ ...row, key: ++lastKey });

export default function FilterPanel({ at, anchor, close }: {
  /** The row that is edited first; a new one without. */
  at: number | null;
  anchor: HTMLElement;
  close: () => void;
}) {
  const panel = useRef<HTMLDivElement>(null);
  const { filters } = address.value;
  const [start] = useState(() => [...filters.map(rowOf), ...(at === null ? [{ parts: [newPart()] }] : [])].map(keyed));
  const rows = useSignal(start);
  const properties = useProperties();
  const types = {
    timezone: timezone.value, numeric: properties.filter(({ isNumeric }) => isNumeric).map(({ field }) => field), known: properties.map(({ field }) => field),
  };
  const made = () => rows.value.map((row) => filterOfRow(row, types)).filter((each) => each !== null);
  const leave = () => {
    close();
    anchor.isConnected ? anchor.focus() : document.getElementById("add-filter")?.focus();
  };
  const apply = (event: Event) => {
    event.preventDefault();
    (document.activeElement as HTMLElement | null)?.blur(); // what is typed becomes a value
    go({ filters: made() });
    leave();
  };
  useEffect(() => {
    const shown = panel.current!;
    shown.showPopover();
    const end = keepPlaced(anchor, shown);
    focusRow(shown, at ?? start.length - 1);
    const pressed = ({ target }: Event) => {
      const isInside = (target as Element).closest(".filter-panel, dialog, .popover");
      if (!isInside && rows.value === start) close(); // changes stay until they are applied or dropped
    };
    document.addEventListener("pointerdown", pressed);
    return () => {
      end();
      document.removeEventListener("pointerdown", pressed);
    };
  }, []);
  useEffect(() => {
    if (address.value.filters !== filters) close();
  }, [address.value.filters]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !panel.current!.querySelector(":popover-open")) leave();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) apply(event);
    else return;
    event.stopPropagation();
  };
  const focusLater = (row: number) => requestAnimationFrame(() => panel.current && focusRow(panel.current, row));
  const change = (row: KeyedRow, parts: Part[]) =>
    (rows.value = rows.value.map((each) => (each.key === row.key ? { key: row.key, parts } : each)));
  const remove = (row: KeyedRow) => {
    const place = rows.value.indexOf(row);
    rows.value = rows.value.filter((each) => each !== row);
    focusLater(Math.min(place, rows.value.length - 1));
  };
  const add = (row: Row, after = rows.value.length - 1) => {
    rows.value = rows.value.toSpliced(after + 1, 0, keyed(row));
    focusLater(after + 1);
  };
  return (
    <div ref={panel} popover="manual" class="popover sheet filter-panel" role="dialog" aria-label={t.title} onKeyDown={onKeyDown}>
      <form class="filter-form" onSubmit={apply}>
        <header><h2>{t.title}</h2><button type="button" class="icon" aria-label={texts.dialog.close} onClick={leave}><Icon name="x" /></button></header>
        {rows.value.map((row, place) => (
          <FilterRow key={row.key} row={row} properties={properties} name={t.condition(place + 1)} change={(parts) => change(row, parts)}
            remove={() => remove(row)} duplicate={() => add({ parts: row.parts, filter: row.filter }, place)} />
        ))}
        {!rows.value.length && <p class="quiet">{t.noConditions}</p>}
        <button type="button" class="quiet-button add-condition" onClick={() => add({ parts: [newPart()] })}><Icon name="plus" /> {t.addCondition}</button>
        <footer>
          {rows.value.length > 0 && <button type="button" class="quiet-button clear" onClick={() => (rows.value = [])}>{t.clear}</button>}
          <button type="button" class="button" onClick={leave}>{t.cancel}</button>
          <button type="submit" class="button primary" title={t.applyKeys}>{t.apply}</button>
        </footer>
      </form>
      {hasRecords() && <Segments made={made} rows={rows.value} add={(segment) => add(rowOf({ segment }))} leave={leave} />}
    </div>
  );
}

/** To the input of a row's values, else its first button; without rows to the button that adds one. */
function focusRow(panel: HTMLElement, at: number): void {
  const row = panel.querySelectorAll<HTMLElement>(".filter-row")[at];
  (row?.querySelector<HTMLElement>(VALUES) ?? row?.querySelector<HTMLElement>("button") ?? panel.querySelector<HTMLElement>(".add-condition"))?.focus();
}

function FilterRow({ row, properties, name, change, remove, duplicate }: {
  row: Row;
  properties: Property[];
  name: string;
  change: (parts: Part[]) => void;
  remove: () => void;
  duplicate: () => void;
}) {
  const { parts } = row;
  const setPart = (at: number, part: Part) => change(parts.map((each, i) => (i === at ? part : each)));
  return (
    <fieldset class="filter-row">
      <legend class="hidden">{name}</legend>
      <div class="filter-parts">
        {!parts.length && <p class="fixed-part">{filterText(row.filter!)}</p>}
        {parts.map((part, at) => (
          <PartInputs key={at} part={part} isAlternative={at > 0} properties={properties} change={(changed) => setPart(at, changed)}
            remove={parts.length > 1 ? () => change(parts.filter((_, i) => i !== at)) : null} />
        ))}
      </div>
      <span class="row-actions">
        {parts.length > 0 && <button type="button" class="quiet-button" title={t.alternative} onClick={() => change([...parts, newPart(parts.at(-1)!.field)])}>{t.or}</button>}
        <button type="button" class="icon" aria-label={t.duplicate(name)} title={t.duplicate(name)} onClick={duplicate}><Icon name="copy" /></button>
        <button type="button" class="icon" aria-label={t.removeCondition(name)} title={t.removeCondition(name)} onClick={remove}><Icon name="trash-2" /></button>
      </span>
    </fieldset>
  );
}

function PartInputs({ part, isAlternative, properties, change, remove }: {
  part: Part;
  isAlternative: boolean;
  properties: Property[];
  change: (part: Part) => void;
  remove: (() => void) | null;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const { field, operator, values } = part;
  const operators = operatorsOf(field);
  const setField = (to: string) => {
    change({ field: to, operator: operatorsOf(to).includes(operator) ? operator : operatorsOf(to)[0]!, values: [] });
    requestAnimationFrame(() => frame.current?.querySelector<HTMLElement>(VALUES)?.focus());
  };
  const setOperator = (to: string) => change({ ...part, operator: to, values: isBare(to) ? [] : isCompared(to) ? values.slice(0, 1) : values });
  return (
    <div ref={frame} class="filter-part">
      {isAlternative && <span class="or">{t.or}</span>}
      <DimensionPicker field={field} properties={properties} choose={setField} />
      <select aria-label={t.operator} value={operator} onChange={(e) => setOperator(e.currentTarget.value)}>
        {[...new Set([...operators, operator])].map((each) => <option key={each} value={each}>{operatorName(field, each)}</option>)}
      </select>
      {isBare(operator) ? <span /> : <Values part={part} change={(changed) => change({ ...part, values: changed })} />}
      {remove && <button type="button" class="icon" aria-label={t.removePart(fieldName(field))} onClick={remove}><Icon name="x" /></button>}
    </div>
  );
}

const isCompared = (operator: string): boolean => ["gt", "gte", "lt", "lte"].includes(operator);

function Values({ part: { field, operator, values }, change }: { part: Part; change: (values: string[]) => void }) {
  const [value = ""] = values;
  if (kindOfField(field) === "instant") {
    return <DateField label={t.value} value={dayOfValue(value, timezone.value)} change={(day) => change(day ? [day] : [])} />;
  }
  if (isCompared(operator)) {
    return <input aria-label={t.value} type="number" step="any" value={value} onInput={(e) => change(e.currentTarget.value ? [e.currentTarget.value] : [])} />;
  }
  return <ValueInput key={field} field={field} operator={operator} values={values} label={t.valuesOf(fieldName(field))} change={change} />;
}

/** Saved segments: one click makes a condition of one; the conditions of the panel become another one. */
function Segments({ made, rows, add, leave }: { made: () => Filter[]; rows: Row[]; add: (name: string) => void; leave: () => void }) {
  const list = useSegments();
  const [removed, setRemoved] = useState<{ id: string; name: string } | null>(null);
  const [isSaving, setSaving] = useState(false);
  const manages = mayWriteRecords();
  const deleteSegment = async ({ id, name }: { id: string; name: string }) => {
    await fetchJson<void>(`/v1/segments/${id}`, { method: "DELETE" });
    list.reload();
    const { filters } = address.value;
    if (filters.some(({ segment }) => segment === name)) go({ filters: filters.filter(({ segment }) => segment !== name) });
  };
  const canSave = manages && rows.some((row) => row.filter || row.parts.some(isComplete));
  return (
    <section class="segments" aria-label={t.saved}>
      <h3>{t.saved}</h3>
      {list.error && <Failed error={list.error} />}
      {!list.value && !list.error && <p class="quiet" role="status">{t.loading}</p>}
      {list.value && !list.value.length && <p class="quiet">{t.none}</p>}
      <div class="segment-list">
        {(list.value ?? []).map(({ id, name, description }) => (
          <span key={id} class="chip">
            <button type="button" class="chip-text" title={description ?? undefined} onClick={() => add(name)}>{name}</button>
            {manages && <button type="button" class="chip-remove" aria-label={t.deleteSegment(name)} title={t.deleteSegment(name)} onClick={() => setRemoved({ id, name })}><Icon name="trash-2" size={14} /></button>}
          </span>
        ))}
        {canSave && !isSaving && <button type="button" class="quiet-button" onClick={() => setSaving(true)}><Icon name="bookmark" /> {t.save} …</button>}
      </div>
      {isSaving && canSave && <SaveSegment made={made} close={() => setSaving(false)} leave={leave} />}
      {removed && (
        <ConfirmDialog title={t.deleteSegment(removed.name)} text={t.confirmDelete(removed.name)} action={texts.goals.remove}
          run={() => deleteSegment(removed)} close={() => setRemoved(null)} />
      )}
    </section>
  );
}

function SaveSegment({ made, close, leave }: { made: () => Filter[]; close: () => void; leave: () => void }) {
  const [name, setName] = useState("");
  const [error, setError] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current!.focus(), []);
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      await fetchJson("/v1/segments", { query: subjectQuery.value, body: { name, filters: made() } });
      go({ filters: [{ segment: name }] });
      leave();
    } catch (problem) {
      setError(formMessage(problem, { name: t.saveName }));
    }
  };
  return (
    <form class="save-segment" onSubmit={(event) => void save(event)}>
      <label>{t.saveName}<input ref={input} required maxLength={255} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
      <button type="button" class="button" onClick={close}>{t.cancel}</button>
      <button type="submit" class="button primary">{t.save}</button>
      <p class="quiet">{t.saveHint}</p>
      {error && <p class="error" role="alert">{error}</p>}
    </form>
  );
}
