// Saved goals: how often each is reached, by whom, worth what, and which visits led to one.
import { useState } from "preact/hooks";
import type { Ask } from "../api/ask";
import { type ComparedData, useComparedData } from "../api/compared";
import { fetchJson } from "../api/request";
import { mayWriteRecords, subjectQuery } from "../api/session";
import { refresh, useAnswer, withTotal } from "../api/use";
import { BarList } from "../components/bar_list";
import { Card } from "../components/card";
import { changeColumn, changeFile } from "../components/change";
import { ConfirmDialog } from "../components/confirm_dialog";
import { DataTable, Pages } from "../components/data_table";
import { Dialog } from "../components/dialog";
import { FormFooter } from "../components/form_footer";
import { formMessage } from "../components/form_message";
import { useGoalSeries } from "../components/goal_series";
import { Icon } from "../components/icon";
import { type Amounts, amountsText, averagesText, useGoalValues } from "../components/money";
import { PageNote } from "../components/page_note";
import { ResultWarnings } from "../components/result_warnings";
import { askGoals, type Goal, MOST_ASKED, useGoals } from "../components/saved_goals";
import { ShareCell } from "../components/share_cell";
import { Sparkline } from "../components/sparkline";
import { Async } from "../components/states";
import { StepInputs, useSuggestions } from "../components/step_inputs";
import { VisitorsDialog } from "../components/visitors_dialog";
import { isolate } from "../isolate";
import { address, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { shownValue } from "../state/filter_values";
import { formatNumber, formatPercent, formatSpan } from "../state/format";
import type { Step } from "../state/steps";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Row } from "../types";

const t = texts.goals;
const MODELS = ["last_touch", "first_touch", "last_non_direct", "linear", "position_based"] as const;
const FACTS = ["visit.channel", "visit.referrer_name", "visit.utm_campaign", "visit.entry_page"];

const CONVERSIONS: [string, string] = ["conversions", t.conversions];
const FILE: FileColumn[] = [
  { field: "name", label: t.name },
  { field: "visitors", label: texts.metrics.visitors },
  { field: "conversions", label: t.conversions },
  { field: "conversion_rate", label: texts.download.percent(t.rate) },
];

/** The column of the value in a file, which the API adds up over currencies: none where there are several. */
function valueFile(amounts: Amounts[]): FileColumn[] {
  const [currency = null, ...others] = new Set(amounts.flat().map(([each]) => each));
  return others.length ? [] : [{ field: "value", label: currency ? `${t.value} (${currency})` : t.value }];
}

export default function Goals() {
  const saved = useGoals();
  const [edited, setEdited] = useState<Goal | "new" | null>(null);
  const all = saved.value ?? [];
  const pages = Math.ceil(all.length / MOST_ASKED);
  const page = Math.min(Number(address.value.own.page) || 1, Math.max(pages, 1));
  const before = useComparedData();
  const goals = all.slice((page - 1) * MOST_ASKED, page * MOST_ASKED);
  const done = () => {
    setEdited(null);
    refresh(); // the goals, and the numbers of one that changed
  };
  const writes = mayWriteRecords();
  const { filters } = address.value;
  const ask = askGoals(goals);
  const values = useGoalValues(goals);
  const file = values && [...FILE, ...valueFile([...values.values()]), ...changeFile(CONVERSIONS, before)];
  return (
    <>
      <Card title={t.title} heading={all.length ? t.count(all.length, formatNumber(all.length)) : undefined} ask={goals.length ? ask : undefined} file={file} fields={[...FILE, { field: "value", label: t.value }]} className="wide" actions={writes && (
        <button type="button" class="button" onClick={() => setEdited("new")}><Icon name="plus" />{t.create}</button>)}>
        <PageNote />
        {filters.some((filter) => filter.has_done ?? filter.has_not_done) && <p class="notice">{t.anyOrder}</p>}
        <Async loaded={saved} lines={4} empty={t.none} isEmpty={() => !goals.length}>
          {() => <GoalTable goals={goals} ask={ask} values={values} before={before} edit={writes ? setEdited : null} />}
        </Async>
        <Pages page={page} total={all.length} size={MOST_ASKED} go={(to) => goOwn({ page: String(to) })} />
      </Card>
      {all.length > 0 && <Attribution goals={all} />}
      {all.length > 0 && <TimeToConvert goals={all} />}
      {edited && <GoalDialog goal={edited === "new" ? null : edited} close={() => setEdited(null)} done={done} />}
    </>
  );
}

function GoalTable({ goals, ask, values, before, edit }: {
  goals: Goal[];
  ask: Ask<"goals">;
  /** By the name of the goal. */
  values: Map<string, Amounts> | null;
  before: ComparedData | null;
  edit: ((goal: Goal) => void) | null;
}) {
  const loaded = useAnswer(ask);
  const whole = useAnswer({ name: "summary_metrics" });
  const course = useGoalSeries(goals);
  const [shown, setShown] = useState<string | null>(null);
  return (
    <Async loaded={withTotal(loaded, whole)} lines={2 * goals.length + 1}>
      {({ rows, warnings }) => {
        const visits = whole.value?.rows[0]?.sessions ?? 0;
        return (
          <>
            <DataTable label={t.title} className="goals" rows={rows.map((row) => ({ row }))} columns={[
              { key: "name", label: t.name, render: ({ row }) => (
                <>
                  <button type="button" class="row-link" onClick={() => setShown(row.name)} title={t.who(row.name)}>{row.name}</button>
                  <small>{reachedBy(goals.find(({ name }) => name === row.name))}</small>
                </>
              ) },
              { key: "course", extra: "wide", label: t.course, render: ({ row }) => <Course name={row.name} values={course?.series.get(row.name)} isRunning={course?.isRunning} /> },
              { key: "conversions", label: t.conversions, number: true, render: ({ row }) => formatNumber(row.conversions) },
              ...changeColumn<{ row: Row<"goals"> }>(CONVERSIONS, loaded.value?.comparison?.rows, before, false, true),
              { key: "visitors", extra: true, label: texts.metrics.visitors, number: true, render: ({ row }) => formatNumber(row.visitors) },
              { key: "rate", label: t.rateOfVisitors, className: "share", render: ({ row }) => <ShareCell percent={row.conversion_rate ?? 0} /> },
              { key: "visits", extra: "wide", label: t.rateOfVisits, number: true, render: ({ row }) => (
                <span title={moreTexts.funnels.shareOf(formatNumber(row.sessions), formatNumber(visits))}>{formatPercent((100 * row.sessions) / Math.max(1, visits), 2)}</span>
              ) },
              { key: "value", extra: true, label: t.value, number: true, render: ({ row }) => <Value amounts={values && values.get(row.name)} /> },
              ...(edit ? [{ key: "edit", extra: true, label: "", render: ({ row }: { row: Row<"goals"> }) => {
                const goal = goals.find(({ name }) => name === row.name);
                return goal && <button type="button" class="icon" aria-label={t.editOne(row.name)} title={t.edit} onClick={() => edit(goal)}><Icon name="pencil" /></button>;
              } }] : []),
            ]} />
            <ResultWarnings warnings={warnings} />
            {shown && (
              <VisitorsDialog title={t.who(shown)} close={() => setShown(null)}
                of={{ name: "goals", goals: ask.options!.goals, goal: shown, outcome: "converted" }} />
            )}
          </>
        );
      }}
    </Async>
  );
}

const reachedBy = (goal: Goal | undefined): string =>
  goal ? `${moreTexts.steps.kinds[goal.path ? "path" : "event"]} ${isolate(goal.path ?? goal.event ?? "")}` : "";

function Course({ name, values, isRunning }: { name: string; values: number[] | undefined; isRunning: boolean | undefined }) {
  return values ? <Sparkline values={values} isRunning={isRunning} label={t.courseOf(name, formatNumber(Math.max(0, ...values)))} /> : <span class="course" />;
}

/** The amounts of each currency, and of one conversion; null while they load. */
function Value({ amounts }: { amounts: Amounts | null | undefined }) {
  if (amounts === null) return <span aria-busy="true">…</span>;
  if (!amounts) return <span class="quiet">–</span>;
  return <>{amountsText(amounts)}{amounts.length > 0 && <small class="average">{t.average(averagesText(amounts))}</small>}</>;
}

function Attribution({ goals }: { goals: Goal[] }) {
  const { own } = address.value;
  const goal = goals.find(({ id }) => id === own.goal) ?? goals[0]!;
  const model = MODELS.find((each) => each === own.model) ?? MODELS[0];
  const by = FACTS.includes(own.fact ?? "") ? own.fact! : FACTS[0]!;
  const ask: Ask<"attribution"> = { name: "attribution", options: { goal: { goal: goal.id }, model, by, limit: 20 } };
  const loaded = useAnswer(ask);
  const values = useGoalValues([goal]);
  return (
    <Card title={t.attribution} ask={ask} className="wide" file={values && [
      { field: "name", label: texts.filters.fields[by]! }, { field: "conversions", label: t.conversions }, ...valueFile([...values.values()]),
    ]}>
      <div class="settings">
        <label>{t.goal}
          <select value={goal.id} onChange={(e) => goOwn({ goal: e.currentTarget.value })}>
            {goals.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
          </select>
        </label>
        <label>{t.model}
          <select value={model} onChange={(e) => goOwn({ model: e.currentTarget.value })}>
            {MODELS.map((each) => <option key={each} value={each}>{t.models[each]}</option>)}
          </select>
        </label>
        <label>{t.by}
          <select value={by} onChange={(e) => goOwn({ fact: e.currentTarget.value })}>
            {FACTS.map((each) => <option key={each} value={each}>{texts.filters.fields[each]}</option>)}
          </select>
        </label>
      </div>
      <Async loaded={loaded} isEmpty={({ rows }) => !rows.some((row) => row.conversions > 0)}>
        {({ rows }) => (
          <BarList nameLabel={texts.filters.fields[by]!} valueLabel={t.conversions} bars={rows.filter((row) => row.conversions > 0).map((row) => ({
            key: String(row.name), name: row.name === null ? (by === FACTS[0] ? t.noTouch : t.noValue) : shownValue(by, row.name), value: row.conversions,
          }))} />
        )}
      </Async>
    </Card>
  );
}

const DELAY_FILE: FileColumn[] = [
  { field: "days", label: t.days },
  { field: "visitors", label: texts.metrics.visitors },
  { field: "percentage", label: texts.download.percent(texts.metrics.visitors) },
  { field: "overall_median_seconds", label: texts.download.seconds(t.median) },
];

/** How long after their first event ever visitors reached a goal. */
function TimeToConvert({ goals }: { goals: Goal[] }) {
  const { own } = address.value;
  const goal = goals.find(({ id }) => id === own.goal) ?? goals[0]!;
  const ask: Ask<"time_to_convert"> = { name: "time_to_convert", options: { goal: { goal: goal.id } } };
  const loaded = useAnswer(ask);
  return (
    <Card title={t.timeToConvert(goal.name)} ask={ask} file={DELAY_FILE} className="wide">
      <Async loaded={loaded} isEmpty={({ rows }) => !rows.some(({ visitors }) => visitors)}>
        {({ rows, warnings }) => (
          <>
            <p class="quiet">{t.halfWithin(formatSpan(rows[0]!.overall_median_seconds ?? 0))}</p>
            <BarList nameLabel={t.days} valueLabel={texts.metrics.visitors} bars={rows.slice(0, rows.findLastIndex(({ visitors }) => visitors) + 1).map((row) => ({
              key: row.days, name: t.afterDays(row.from_days, row.days.replace("-", "\u2013")), value: row.visitors,
            }))} />
            <ResultWarnings warnings={warnings} />
          </>
        )}
      </Async>
    </Card>
  );
}

const LABELS = { name: t.name, event: t.reached, path: t.reached, valueProperty: t.valueProperty };

/** A page is meant by its path, also without the slash. */
const sent = ({ kind, value }: Step): string => (kind === "path" && value && !/^[/*]/.test(value) ? `/${value}` : value);
const property = (name: string): string => (name.startsWith("properties.") ? name : `properties.${name}`);

function GoalDialog({ goal, close, done }: { goal: Goal | null; close: () => void; done: () => void }) {
  const suggestions = useSuggestions();
  const [name, setName] = useState(goal?.name ?? "");
  const [value, setValue] = useState(goal?.valueProperty ?? "");
  const [step, setStep] = useState<Step>(goal?.path ? { kind: "path", value: goal.path } : { kind: "event", value: goal?.event ?? "" });
  const [error, setError] = useState("");
  const [removing, setRemoving] = useState(false);
  const path = goal ? `/v1/goals/${goal.id}` : "/v1/goals";
  const save = async (event: Event) => {
    event.preventDefault();
    const other = step.kind === "path" ? "event" : "path";
    const cleared = goal ? { [other]: null } : {};
    const body = { name, [step.kind]: sent(step), ...cleared, valueProperty: value ? property(value) : null };
    try {
      await fetchJson(path, { method: goal ? "PATCH" : "POST", body, query: goal ? {} : subjectQuery.value });
      done();
    } catch (problem) {
      setError(formMessage(problem, LABELS));
    }
  };
  if (goal && removing) {
    const remove = async () => {
      await fetchJson<void>(path, { method: "DELETE" });
      done();
    };
    return <ConfirmDialog title={t.removeOne(goal.name)} text={t.confirmRemove(goal.name)} action={t.remove} run={remove} close={() => setRemoving(false)} />;
  }
  return (
    <Dialog title={goal ? t.editOne(goal.name) : t.create} close={close}>
      <form class="form" onSubmit={(event) => void save(event)}>
        <label>{t.name}<input name="name" required maxLength={255} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label>{t.reached}</label>
        <StepInputs step={step} change={setStep} name={t.reached} suggestions={suggestions} kinds={["event", "path"]} required />
        <label>{t.valueProperty}<input name="value" placeholder="properties.total" value={value} onInput={(e) => setValue(e.currentTarget.value)} /></label>
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={t.save} close={close} danger={goal ? { label: `${t.remove} …`, run: () => setRemoving(true) } : undefined} />
      </form>
    </Dialog>
  );
}

