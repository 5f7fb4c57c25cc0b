// A dialog for one condition, with values that occur in the data as suggestions.
import { useEffect, useId, useState } from "preact/hooks";
import { fetchJson } from "../api/request";
import { isShared, subjectQuery, timezone } from "../api/session";
import { useLoaded } from "../api/use";
import { address, go } from "../state/address";
import { normalized, shownValue } from "../state/filter_values";
import { alternatives, type Condition, DONE_FIELDS, editable, typed } from "../state/filters";
import { periodMembers } from "../state/period";
import { texts } from "../texts";
import type { Schemas } from "../types";
import { Dialog } from "./dialog";
import { fieldName } from "./filter_text";
import { FormFooter } from "./form_footer";

const t = texts.filters;
const NOT_OFFERED = ["message", "website_id"];
const PAGE_FIELDS = Object.keys(t.fields).filter((field) => !NOT_OFFERED.includes(field));
/** Fields that tell single visitors, which a shared dashboard does not filter by. */
const PERSONAL = [...Object.keys(DONE_FIELDS), "visitor.is_new", "visitor.profile_id", "anonymous_id", "session_id"];
const offered = (): string[] => (isShared() ? PAGE_FIELDS.filter((field) => !PERSONAL.includes(field)) : PAGE_FIELDS);
/** Fields of values by which rows of a metrics query can be grouped, for suggestions. */
const SUGGESTED: Record<string, string> = { "did.path": "path", "did.event": "name" };
const OPERATORS = Object.keys(t.operators);
/** They compare texts by letters, which is rarely wanted; a filter that has one keeps it. */
const OF_NUMBERS = ["gt", "gte", "lt", "lte"];
const LISTS = ["in", "not_in"];
const BARE = ["is_null", "is_not_null"];
/** Operators whose value must occur for anything to be left. */
const OCCURRING = ["eq", "in", "contains", "starts_with", "ends_with"];
/** Pause after which typing counts as finished. */
const TYPING_MS = 800;

export function FilterDialog({ at, alternative, close }: {
  at: number | null;
  alternative?: boolean;
  close: () => void;
}) {
  const { filters } = address.value;
  const old = at === null ? undefined : filters[at];
  const before = old && editable(old);
  const empty = { field: before?.field ?? "path", operator: "eq", value: "" };
  const start = (!alternative && before) || empty;
  const [edited, setEdited] = useState<Condition>(start);
  const [complete, setComplete] = useState(false);
  const known = useValues(edited.field);
  const meant = normalized(edited, known ?? []);
  const shown = typeof meant.value === "string" && meant.value ? shownValue(meant.field, meant.value) : edited.value;
  const note = useUnseen(meant, known, complete) ? t.unseen : shown === edited.value ? "" : t.meant(String(shown));
  const change = (condition: Condition) => {
    setComplete(false);
    setEdited(condition);
  };
  const apply = (event: Event) => {
    event.preventDefault();
    const made = typed(meant);
    if (at === null || !old) go({ filters: [...filters, made] });
    else go({ filters: filters.map((each, i) => (i === at ? (alternative ? alternatives(old, made) : made) : each)) });
    close();
  };
  return (
    <Dialog title={alternative ? t.alternative : t.title} close={close}>
      <form class="form" onSubmit={apply}>
        <Inputs condition={edited} change={change} fields={offered()} known={known ?? []} leave={() => setComplete(true)} />
        <p class="quiet" role="status">{note}</p>
        <FormFooter submit={t.apply} close={close} />
      </form>
    </Dialog>
  );
}

function Inputs({ condition, change, fields, known, leave }: {
  condition: Condition;
  change: (condition: Condition) => void;
  fields: string[];
  known: string[];
  /** Called when the value is complete: its input was left. */
  leave?: () => void;
}) {
  const list = useId();
  const { field, operator, value } = condition;
  const many = LISTS.includes(operator);
  const text = Array.isArray(value) ? value.join("\n") : String(value ?? "");
  const operators = Object.hasOwn(DONE_FIELDS, field) ? ["eq", "ne"] : OPERATORS.filter((each) => !OF_NUMBERS.includes(each) || each === operator);
  const set = (part: Partial<Condition>) => change({ ...condition, ...part });
  const setField = (to: string) => set({ field: to, ...(Object.hasOwn(DONE_FIELDS, to) ? { operator: "eq" } : {}) });
  return (
    <>
      <label>{t.field}
        <select value={field} onChange={(e) => setField(e.currentTarget.value)}>
          {[...new Set([...fields, field])].map((each) => <option key={each} value={each}>{fieldName(each)}</option>)}
        </select>
      </label>
      <label>{t.operator}
        <select value={operator} onChange={(e) => set({ operator: e.currentTarget.value })}>
          {operators.map((each) => <option key={each} value={each}>{t.operators[each]}</option>)}
        </select>
      </label>
      {BARE.includes(operator)
        ? null
        : (
          <label>{many ? t.values : t.value}
            {many
              ? <textarea rows={4} required value={text} onChange={leave}
                onInput={(e) => set({ value: e.currentTarget.value.split("\n") })} />
              : <input required list={list} value={text} onChange={leave} onInput={(e) => set({ value: e.currentTarget.value })} />}
            <datalist id={list}>{known.map((each) => <option key={each} value={each}>{shownValue(field, each)}</option>)}</datalist>
          </label>
        )}
    </>
  );
}

/** The rows of a metrics query over the time range, without the filters of the page; `null` sends no request. */
function useRange(members: Record<string, unknown> | null): Record<string, unknown>[] | null {
  const { period, bots } = address.value;
  const body = {
    metrics: ["visitors"], timezone: timezone.value, ...periodMembers(period, timezone.value), ...members,
    ...(bots ? { include_bots: true } : {}),
  };
  const { value, loading } = useLoaded(members && JSON.stringify([subjectQuery.value, body]), (signal) =>
    fetchJson<Schemas["MetricsResponse"]>("/v1/query/metrics", { query: subjectQuery.value, body, signal }));
  return loading ? null : (value?.data ?? null) as Record<string, unknown>[] | null;
}

/** The most frequent values of a field; null until they are known. */
function useValues(field: string): string[] | null {
  const grouped = SUGGESTED[field] ?? field;
  const rows = useRange({ dimensions: [grouped], limit: 100 });
  return rows && rows.map((row) => row[grouped]).filter((each) => each !== null && each !== undefined).map(String);
}

/** Whether a known value contains each of the texts: they may be the beginning of a value. */
function mayGoOn({ field, value }: Condition, known: string[] | null): boolean {
  const texts = [value].flat().map((text) => String(text ?? "").toLowerCase()).filter(Boolean);
  return known === null || texts.every((text) => known.some((each) => `${each}\n${shownValue(field, each)}`.toLowerCase().includes(text)));
}

/** Whether no visitor matches a condition; false until the response is there, and while its value is still being typed. */
function useUnseen(condition: Condition, known: string[] | null, complete: boolean): boolean {
  const { operator, value } = condition;
  const checked = OCCURRING.includes(operator) && String(value ?? "").trim() && (complete || !mayGoOn(condition, known));
  const asked = checked ? JSON.stringify(typed(condition)) : null;
  const [settled, setSettled] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(asked), complete ? 0 : TYPING_MS);
    return () => clearTimeout(timer);
  }, [asked, complete]);
  const rows = useRange(settled === null ? null : { filters: [JSON.parse(settled)] });
  return settled !== null && settled === asked && rows?.[0]?.visitors === 0;
}
