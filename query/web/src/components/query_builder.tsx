// Picks table, values, groups, filters and having of a custom query.
import type { ComponentChildren } from "preact";
import { aliasOf, type Exploration, START } from "../state/exploration";
import type { Condition } from "../state/filters";
import { texts } from "../texts";
import { ConditionInputs } from "./filter_dialog";

const t = texts.explore;
const MOST = 5;
const USUAL_GROUPS = ["path", "name", "metric_name", "message", "visit.channel", "country", "device_type", "slug"];
const LIMITS = [10, 100, 1000, 10_000];

export interface Catalogue {
  tables: { name: string; meaning: string; columns: TableColumn[]; subjects: string[]; properties: string | null }[];
  timeBuckets: string[];
}

interface TableColumn {
  name: string;
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
  const groupable = [...catalogue.timeBuckets, ...table.columns.filter(({ groupBy }) => groupBy).map(({ name }) => name)];
  const filterable = table.columns.filter(({ operators }) => operators.length).map(({ name }) => name);
  const { selects, groups, filters, having } = exploration;
  return (
    <div class="builder">
      <label>{t.table}
        <select value={table.name} onChange={(e) => change({ ...START, table: e.currentTarget.value })}>
          {tables.map(({ name, meaning }) => <option key={name} value={name}>{`${name}: ${meaning}`}</option>)}
        </select>
      </label>
      <Terms title={t.values} terms={selects} empty={{ aggregate: "count", field: "*" }} least={1} change={(selects) => set({ selects })}>
        {(term, replace) => <Value term={term} table={table} replace={replace} />}
      </Terms>
      <Terms title={t.groups} terms={groups} empty={nextGroup(groupable, groups)} change={(groups) => set({ groups })}>
        {(group, replace) => (
          <input aria-label={t.groups} list="groupable" value={group} onChange={(e) => e.currentTarget.value && replace(e.currentTarget.value)} />
        )}
      </Terms>
      <datalist id="groupable">{groupable.map((name) => <option key={name} value={name} />)}</datalist>
      <Conditions title={t.filters} conditions={filters} fields={filterable} change={(filters) => set({ filters })} />
      <Conditions title={t.having} conditions={having} fields={selects.map(aliasOf)} operator="gt" change={(having) => set({ having })} />
      <label>{t.limit}
        <select value={exploration.limit} onChange={(e) => set({ limit: Number(e.currentTarget.value) })}>
          {LIMITS.map((limit) => <option key={limit} value={limit}>{limit}</option>)}
        </select>
      </label>
    </div>
  );
}

/** A column that is grouped by often and is not a group yet. */
const nextGroup = (groupable: string[], groups: string[]): string =>
  USUAL_GROUPS.find((name) => groupable.includes(name) && !groups.includes(name)) ?? groupable.at(-1)!;

function Value({ term, table, replace }: {
  term: Exploration["selects"][number];
  table: Catalogue["tables"][number];
  replace: (term: Exploration["selects"][number]) => void;
}) {
  const column = table.columns.find(({ name }) => name === term.field);
  const aggregates = term.field === "*" ? ["count"] : (column?.aggregates ?? ["count", "uniq", "sum", "avg", "median", "min", "max", "p75", "p95"]);
  const field = (name: string) => {
    const known = table.columns.find((each) => each.name === name)?.aggregates ?? [];
    const keeps = name !== "*" && (!known.length || known.includes(term.aggregate));
    replace({ field: name, aggregate: name === "*" ? "count" : keeps ? term.aggregate : known[0]! });
  };
  return (
    <span class="step-inputs">
      <select aria-label={t.aggregate} value={term.aggregate} onChange={(e) => replace({ ...term, aggregate: e.currentTarget.value })}>
        {[...new Set([...aggregates, term.aggregate])].map((each) => <option key={each} value={each}>{each}</option>)}
      </select>
      <input aria-label={t.field} list="valued" value={term.field} onChange={(e) => e.currentTarget.value && field(e.currentTarget.value)} />
      <datalist id="valued">{["*", ...table.columns.map(({ name }) => name)].map((name) => <option key={name} value={name} />)}</datalist>
    </span>
  );
}

function Conditions({ title, conditions, fields, operator = "eq", change }: {
  title: string;
  conditions: Condition[];
  fields: string[];
  operator?: string;
  change: (conditions: Condition[]) => void;
}) {
  return (
    <Terms title={title} terms={conditions} empty={{ field: fields[0] ?? "", operator, value: "" }} change={change}>
      {(condition, replace) => <span class="condition"><ConditionInputs condition={condition} change={replace} fields={fields} /></span>}
    </Terms>
  );
}

/** A list of parts of the query that can grow and shrink. */
function Terms<Term>({ title, terms, empty, least = 0, change, children }: {
  title: string;
  terms: Term[];
  empty: Term;
  least?: number;
  change: (terms: Term[]) => void;
  children: (term: Term, replace: (term: Term) => void) => ComponentChildren;
}) {
  return (
    <fieldset>
      <legend>{title}</legend>
      {terms.map((term, i) => (
        <div key={i} class="term">
          {children(term, (changed) => change(terms.map((each, at) => (at === i ? changed : each))))}
          <button type="button" class="icon" disabled={terms.length <= least} aria-label={t.remove(title, i + 1)}
            onClick={() => change(terms.filter((_, at) => at !== i))}>×</button>
        </div>
      ))}
      {terms.length < MOST && <button type="button" class="quiet-button" aria-label={t.addTo(title)} onClick={() => change([...terms, empty])}>+ {t.add}</button>}
    </fieldset>
  );
}

