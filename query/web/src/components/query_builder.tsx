// Picks table, values, groups, filters and having of a custom query, in the words of the page.
import type { ComponentChildren } from "preact";
import { pageMembers } from "../api/ask";
import { useEffect, useRef } from "preact/hooks";
import { fetchJson } from "../api/request";
import { subjectQuery } from "../api/session";
import { useLoaded } from "../api/use";
import { aggregateText, columnText, valueText } from "../state/columns";
import { aliasOf, type Exploration, START } from "../state/exploration";
import type { Condition } from "../state/filters";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";
import { type ColumnGroup, ColumnSelect } from "./column_select";
import Definition from "./definition";
import { Icon } from "./icon";
import { QueryCondition } from "./query_condition";

const t = moreTexts.explore;
type Select = Exploration["selects"][number];

const MOST = 5;
const SUGGESTIONS = 100;
const COUNT = "count";
const USUAL = ["path", "name", "metric_name", "message", "visit.channel", "country", "device_type", "slug"];
const USUAL_VALUES: Select[] = [
  { aggregate: "count", field: "*" }, { aggregate: "uniq", field: "anonymous_id" }, { aggregate: "uniq", field: "session_id" },
  { aggregate: "uniq", field: "path" }, { aggregate: "uniq", field: "country" },
];
/** What is computed of a column that was just chosen: of numbers a mean, else how many values there are. */
const USUAL_AGGREGATES = ["avg", "uniq"];
const LIMITS = [10, 100, 1000, 10_000];
const NUMBER_OPERATORS = ["eq", "ne", "gt", "gte", "lt", "lte"];
export interface Catalogue {
  tables: Table[];
  timeBuckets: string[];
}

interface Table {
  name: string;
  meaning: string;
  columns: TableColumn[];
  subjects: string[];
  properties: string | null;
}

interface TableColumn {
  name: string;
  type: string;
  /** The column that it is another name of. */
  aliasOf: string | null;
  groupBy: boolean;
  aggregates: string[];
  operators: string[];
}

export function QueryBuilder({ catalogue, exploration, change }: {
  catalogue: Catalogue;
  exploration: Exploration;
  change: (exploration: Exploration) => void;
}) {
  const tables = catalogue.tables.filter(({ subjects }) => subjects.includes("website_id"));
  const table = tables.find(({ name }) => name === exploration.table) ?? tables[0]!;
  const set = (part: Partial<Exploration>) => change({ ...exploration, ...part });
  const groupable = table.columns.filter(({ groupBy }) => groupBy);
  const filterable = table.columns.filter(({ operators }) => operators.length);
  const { selects, groups, filters, having } = exploration;
  const picker = { properties: table.properties !== null };
  return (
    <div class="builder">
      <label>{t.table}
        <select value={table.name} onChange={(e) => change({ ...START, table: e.currentTarget.value })}>
          {tables.map(({ name }) => <option key={name} value={name}>{t.tables[name] ?? name}</option>)}
        </select>
        <small><Definition of={table.meaning} /></small>
      </label>
      <Terms title={t.values} terms={selects} empty={usualValue(table, selects)} least={1} change={(selects) => set({ selects })}>
        {(term, replace, n) => <Value term={term} label={t.condition(t.values, n)} table={table} replace={replace} />}
      </Terms>
      <Terms title={t.groups} terms={groups} empty={usual(groupable, groups)} change={(groups) => set({ groups })}>
        {(group, replace, n) => (
          <ColumnSelect {...picker} label={t.condition(t.groups, n)} value={group} change={replace}
            groups={[{ label: t.groupsOf.time, names: catalogue.timeBuckets }, ...columnGroups(groupable)]} />
        )}
      </Terms>
      <Terms title={t.filters} terms={filters} empty={{ field: usual(filterable, filters.map(({ field }) => field)), operator: "eq", value: "" }}
        change={(filters) => set({ filters })}>
        {(condition, replace, n) => (
          <ColumnCondition condition={condition} label={t.condition(t.filters, n)} table={table} columns={filterable} replace={replace} />
        )}
      </Terms>
      <Terms title={t.having} terms={having} empty={{ field: aliasOf(selects[0]!), operator: "gt", value: "" }} change={(having) => set({ having })}>
        {(condition, replace) => (
          <QueryCondition condition={condition} known={[]} operators={NUMBER_OPERATORS} type="number" change={replace} column={
            <select value={condition.field} onChange={(e) => replace({ ...condition, field: e.currentTarget.value })}>
              {[...new Map([[condition.field, condition.field], ...selects.map((each) => [aliasOf(each), valueText(each)] as const)])]
                .map(([alias, text]) => <option key={alias} value={alias}>{text}</option>)}
            </select>} />
        )}
      </Terms>
      <label>{t.limit}
        <select value={exploration.limit} onChange={(e) => set({ limit: Number(e.currentTarget.value) })}>
          {LIMITS.map((limit) => <option key={limit} value={limit}>{limit}</option>)}
        </select>
      </label>
    </div>
  );
}

/** A column that is often chosen and is not chosen yet. */
const usual = (columns: TableColumn[], chosen: string[]): string => {
  const names = columns.map(({ name }) => name);
  return USUAL.find((name) => names.includes(name) && !chosen.includes(name)) ?? names.at(-1)!;
};

/** A value that is often chosen and is not chosen yet. */
const usualValue = (table: Table, chosen: Select[]): Select =>
  USUAL_VALUES.find(({ aggregate, field }) => !chosen.some((each) => aliasOf(each) === aliasOf({ aggregate, field }))
    && (field === "*" || table.columns.some(({ name }) => name === field))) ?? USUAL_VALUES[0]!;

/** Columns by what they are a fact of; second names of a column are left out. */
function columnGroups(columns: TableColumn[]): ColumnGroup[] {
  const names = columns.filter(({ aliasOf }) => !aliasOf).map(({ name }) => name);
  const of = (prefix: string) => names.filter((name) => name.startsWith(prefix)).toSorted(byText);
  return [
    { label: t.groupsOf.rows, names: names.filter((name) => !name.includes(".")).toSorted(byText) },
    { label: t.groupsOf.visit, names: of("visit.") },
    { label: t.groupsOf.visitor, names: of("visitor.") },
    { label: t.groupsOf.event, names: of("event.") },
  ];
}

const byText = (a: string, b: string): number => columnText(a).localeCompare(columnText(b));

function Value({ term, label, table, replace }: { term: Select; label: string; table: Table; replace: (term: Select) => void }) {
  const column = table.columns.find(({ name }) => name === term.field);
  const aggregates = column?.aggregates ?? Object.keys(t.aggregates);
  const field = (name: string) => {
    const known = table.columns.find((each) => each.name === name)?.aggregates ?? Object.keys(t.aggregates);
    const keeps = term.field !== "*" && known.includes(term.aggregate);
    const usual = USUAL_AGGREGATES.find((each) => known.includes(each)) ?? known[0]!;
    replace({ field: name, aggregate: name === "*" ? "count" : keeps ? term.aggregate : usual });
  };
  const [rows, ...others] = columnGroups(table.columns);
  return (
    <span class="query-value">
      <ColumnSelect label={`${label}: ${t.field}`} value={term.field} properties={table.properties !== null} change={field}
        groups={[{ ...rows!, names: ["*", ...rows!.names] }, ...others]} />
      {term.field !== "*" && (
        <select aria-label={`${label}: ${t.aggregate}`} value={term.aggregate} onChange={(e) => replace({ ...term, aggregate: e.currentTarget.value })}>
          {[...new Set([...aggregates, term.aggregate])].map((each) => <option key={each} value={each}>{aggregateText(each)}</option>)}
        </select>
      )}
    </span>
  );
}

function ColumnCondition({ condition, label, table, columns, replace }: {
  condition: Condition;
  label: string;
  table: Table;
  columns: TableColumn[];
  replace: (condition: Condition) => void;
}) {
  const column = columns.find(({ name }) => name === condition.field);
  const known = useColumnValues(table.name, column && column.type !== "string" ? null : condition.field);
  const operators = column?.operators ?? Object.keys(texts.filters.operators);
  const field = (name: string) => {
    const known = columns.find((each) => each.name === name)?.operators;
    replace({ field: name, operator: !known || known.includes(condition.operator) ? condition.operator : known[0]!, value: "" });
  };
  return (
    <QueryCondition condition={condition} known={column?.type === "boolean" ? ["true", "false"] : known} operators={operators}
      type={column?.type} change={replace} column={
      <ColumnSelect label={label} value={condition.field} groups={columnGroups(columns)} properties={table.properties !== null} change={field} />} />
  );
}

/** A list of parts of the query that can grow and shrink; the focus goes to what is new, or stays in the list. */
function Terms<Term>({ title, terms, empty, least = 0, change, children }: {
  title: string;
  terms: Term[];
  empty: Term;
  least?: number;
  change: (terms: Term[]) => void;
  children: (term: Term, replace: (term: Term) => void, n: number) => ComponentChildren;
}) {
  const list = useRef<HTMLFieldSetElement>(null);
  const changed = useRef<"added" | "removed" | null>(null);
  useEffect(() => {
    const last = [...list.current!.querySelectorAll<HTMLElement>(".term")].at(-1);
    if (changed.current === "added") last?.querySelector<HTMLElement>("select, input")?.focus();
    if (changed.current === "removed") list.current!.querySelector<HTMLElement>(".add-term")?.focus();
    changed.current = null;
  }, [terms.length]);
  const resize = (how: "added" | "removed", next: Term[]) => {
    changed.current = how;
    change(next);
  };
  return (
    <fieldset ref={list}>
      <legend>{title}</legend>
      {terms.map((term, i) => (
        <div key={i} class="term">
          {children(term, (other) => change(terms.map((each, at) => (at === i ? other : each))), i + 1)}
          <button type="button" class="icon" disabled={terms.length <= least} aria-label={t.remove(title, i + 1)}
            onClick={() => resize("removed", terms.filter((_, at) => at !== i))}><Icon name="x" size={14} /></button>
        </div>
      ))}
      {terms.length < MOST && (
        <button type="button" class="quiet-button add-term" aria-label={t.addTo(title)} onClick={() => resize("added", [...terms, empty])}><Icon name="plus" size={14} />{t.add}</button>
      )}
    </fieldset>
  );
}

/** The most frequent values of a column in the time range of the page; a `null` field sends no request. */
function useColumnValues(table: string, field: string | null): string[] {
  const body = {
    query: { table, selects: [{ field: "*", aggregate: "count", alias: COUNT }], groupBy: [field] },
    limit: SUGGESTIONS, ...pageMembers(),
  };
  const { value, loading } = useLoaded(field && JSON.stringify([subjectQuery.value, body]), (signal) =>
    fetchJson<Schemas["CustomResponse"]>("/v1/query/custom", { query: subjectQuery.value, body, signal }));
  const values = loading || !field ? [] : (value?.data ?? []).map((row) => Object.entries(row).find(([name]) => name !== COUNT)?.[1]);
  return values.filter((each) => each !== null && each !== undefined).map(String);
}
