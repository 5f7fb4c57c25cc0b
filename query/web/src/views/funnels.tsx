// A funnel, built by picking its steps: how many go on at each, how many leave, and how long it takes.
import { useState } from "preact/hooks";
import type { Ask } from "../api/ask";
import type { Row } from "../api/types";
import { useAnswer } from "../api/use";
import { address, goOwn } from "../app/address";
import { Card } from "../components/card";
import { Empty, Async } from "../components/states";
import { type Suggestions, StepInputs, useSuggestions } from "../components/step_inputs";
import { VisitorsDialog } from "../components/visitors_dialog";
import { formatDuration, formatNumber, formatPercent } from "../format";
import type { FileColumn } from "../state/csv";
import { formatSteps, isComplete, parseSteps, type Step, stepMember } from "../state/steps";
import { texts } from "../texts";

const t = texts.funnels;
const MOST_STEPS = 10;
const DAY = 86_400;
const WINDOWS = { 3600: t.windows.hour, [DAY]: t.windows.day, [7 * DAY]: t.windows.week, [30 * DAY]: t.windows.month };
const DEFAULT_WINDOW = 7 * DAY;
const BREAKDOWNS = ["", "visit.channel", "visit.utm_campaign", "device_type", "country", "visitor.is_new"];
const START: Step[] = [{ kind: "path", value: "/" }, { kind: "path", value: "" }];

const FILE: FileColumn[] = [
  { field: "step", label: t.steps },
  { field: "name", label: t.name },
  { field: "visitors", label: texts.metrics.visitors },
  { field: "conversion_rate", label: texts.download.percent(t.conversion) },
  { field: "step_rate", label: texts.download.percent(t.stepConversion) },
  { field: "dropped", label: t.left },
  { field: "drop_off_rate", label: texts.download.percent(t.left) },
  { field: "median_seconds", label: texts.download.seconds(t.medianTime) },
];

export default function Funnels() {
  const { own } = address.value;
  const stored = own.steps ? parseSteps(own.steps) : null;
  const [picked, setSteps] = useState<Step[] | null>(stored);
  const suggestions = useSuggestions();
  const steps = picked ?? firstSteps(suggestions);
  const change = (changed: Step[]) => {
    setSteps(changed);
    goOwn({ steps: formatSteps(changed.filter(isComplete)) }, { replace: true });
  };
  const complete = steps.filter(isComplete);
  const options = {
    steps: complete.map(stepMember),
    window: Number(own.window) || DEFAULT_WINDOW,
    by: own.by_session ? "session" : "visitor",
    ...(own.breakdown ? { breakdown: own.breakdown } : {}),
  };
  const ask: Ask<"funnel"> | null = complete.length > 1 ? { name: "funnel", options } : null;
  return (
    <>
      <Card title={t.steps} className="wide">
        <StepList steps={steps} change={change} suggestions={suggestions} />
        <Settings />
      </Card>
      <Card title={t.title} ask={ask ?? undefined} file={own.breakdown ? [{ field: "breakdown", label: texts.filters.fields[own.breakdown] ?? own.breakdown }, ...FILE] : FILE} className="wide">
        {ask ? <Result ask={ask} options={options} /> : <Empty text={t.pick} />}
      </Card>
    </>
  );
}

/** What is shown before anything is picked: from the start page to a goal, if there is one. */
const firstSteps = ({ goal: [name] }: Suggestions): Step[] => (name ? [START[0]!, { kind: "goal", value: name }] : START);

function StepList({ steps, change, suggestions }: { steps: Step[]; change: (steps: Step[]) => void; suggestions: Suggestions }) {
  const replaced = (at: number, step: Step) => steps.map((each, i) => (i === at ? step : each));
  const moved = (at: number) => steps.map((each, i) => (i === at - 1 ? steps[at]! : i === at ? steps[at - 1]! : each));
  return (
    <ol class="steps">
      {steps.map((step, i) => (
        <li key={i}>
          <span class="step-number">{i + 1}</span>
          <StepInputs step={step} name={t.step(i + 1)} suggestions={suggestions} change={(changed) => change(replaced(i, changed))} />
          <button type="button" class="icon" disabled={i === 0} aria-label={t.earlier(i + 1)} onClick={() => change(moved(i))}>↑</button>
          <button type="button" class="icon" disabled={steps.length <= 2} aria-label={t.remove(i + 1)}
            onClick={() => change(steps.filter((_, at) => at !== i))}>×</button>
        </li>
      ))}
      {steps.length < MOST_STEPS && (
        <li><button type="button" class="button" onClick={() => change([...steps, { kind: "path", value: "" }])}>+ {t.add}</button></li>
      )}
    </ol>
  );
}

function Settings() {
  const { own } = address.value;
  return (
    <div class="settings">
      <label>{t.window}
        <select value={own.window ?? String(DEFAULT_WINDOW)} onChange={(e) => goOwn({ window: e.currentTarget.value })}>
          {Object.entries(WINDOWS).map(([seconds, name]) => <option key={seconds} value={seconds}>{name}</option>)}
        </select>
      </label>
      <label>{t.by}
        <select value={own.by_session ?? ""} onChange={(e) => goOwn({ by_session: e.currentTarget.value })}>
          <option value="">{texts.metrics.visitors}</option>
          <option value="1">{texts.metrics.visits}</option>
        </select>
      </label>
      <label>{t.breakdown}
        <select value={own.breakdown ?? ""} onChange={(e) => goOwn({ breakdown: e.currentTarget.value })}>
          {BREAKDOWNS.map((field) => <option key={field} value={field}>{field ? texts.filters.fields[field] ?? field : t.none}</option>)}
        </select>
      </label>
    </div>
  );
}

interface Shown {
  step: number;
  outcome: "completed" | "dropped";
  group?: Record<string, unknown>;
  title: string;
}

function Result({ ask, options }: { ask: Ask<"funnel">; options: Record<string, unknown> }) {
  const loaded = useAnswer(ask);
  const [shown, setShown] = useState<Shown | null>(null);
  const of = shown && {
    name: "funnel", ...options, step: shown.step, outcome: shown.outcome, ...(shown.group ? { group: shown.group } : {}),
  };
  return (
    <>
      <Async loaded={loaded} isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => groupsOf(rows).map(([name, group]) => (
          <section key={name} aria-label={name || t.title}>
            {"breakdown" in group[0]! && <h3>{name}</h3>}
            <Bars rows={group} show={setShown} />
          </section>
        ))}
      </Async>
      {shown && <VisitorsDialog title={shown.title} of={of!} close={() => setShown(null)} />}
    </>
  );
}

/** The steps of each group of a breakdown; one group without one. */
function groupsOf(rows: Row<"funnel">[]): [name: string, rows: Row<"funnel">[]][] {
  const groups = new Map<string, Row<"funnel">[]>();
  for (const row of rows) {
    const name = row.other ? t.other : "breakdown" in row ? (row.breakdown ?? t.absent) : "";
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups];
}

function Bars({ rows, show }: { rows: Row<"funnel">[]; show: (shown: Shown) => void }) {
  const first = rows[0]!;
  const group = first.other ? { other: true } : "breakdown" in first ? { breakdown: first.breakdown } : undefined;
  const last = rows.at(-1)!;
  return (
    <>
      <p class="funnel-total">{t.total(formatPercent(last.conversion_rate, 2), formatNumber(last.visitors), formatNumber(first.visitors))}</p>
      <ol class="funnel">
        {rows.map((row) => (
          <li key={row.step}>
            <span class="funnel-name">{row.step}. {row.name}</span>
            <span class="funnel-track"><span style={{ width: `${row.conversion_rate}%` }} /></span>
            <span class="funnel-numbers">
              <button type="button" class="row-link" onClick={() => show({ step: row.step, outcome: "completed", group, title: t.completed(row.name) })}>
                {t.visitors(row.visitors, formatNumber(row.visitors))}
              </button>
              <span>{formatPercent(row.conversion_rate, 2)}</span>
              {row.step > 1 && (
                <>
                  <button type="button" class="row-link dropped" disabled={!row.dropped}
                    onClick={() => show({ step: row.step, outcome: "dropped", group, title: t.droppedBefore(row.name) })}>
                    {t.dropped(formatNumber(row.dropped), formatPercent(row.drop_off_rate, 2))}
                  </button>
                  {row.median_seconds !== null && <span class="quiet">{t.median(formatDuration(row.median_seconds))}</span>}
                </>
              )}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}
