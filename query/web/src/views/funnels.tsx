// A funnel, built by picking its steps: how many go on at each, how many leave, and how long it takes.
import { useRef, useState } from "preact/hooks";
import type { Ask } from "../api/ask";
import { isShared } from "../api/session";
import { type Loaded, useAnswer } from "../api/use";
import { Card } from "../components/card";
import { fieldName } from "../components/filter_text";
import { FunnelActions, useFunnels } from "../components/saved_funnels";
import { Async, Empty, Failed, Skeleton } from "../components/states";
import { type Suggestions, useSuggestions } from "../components/step_inputs";
import { StepList } from "../components/step_list";
import { VisitorsButton } from "../components/visitors_button";
import { VisitorsDialog } from "../components/visitors_dialog";
import { address, go, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { formatDuration, formatNumber, formatPercent } from "../state/format";
import { DAY, type FunnelOptions, optionsOf, ownOf, queryOptions, type SavedFunnel } from "../state/funnel";
import { isComplete, type Step } from "../state/steps";
import { texts } from "../texts";
import type { Row } from "../types";

const t = texts.funnels;
const WINDOWS: Record<number, string> = { 3600: t.windows.hour, [DAY]: t.windows.day, [7 * DAY]: t.windows.week, [30 * DAY]: t.windows.month };
const BREAKDOWNS = ["", "visit.channel", "visit.utm_campaign", "device_type", "country", "visitor.is_new"];
const SHARED_BREAKDOWNS = BREAKDOWNS.filter((field) => !field.startsWith("visitor."));
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
  const { item } = address.value;
  const list = useFunnels(); // none on a shared dashboard
  const [stored, setStored] = useState<SavedFunnel | null>(null);
  const listed = list.value?.find(({ id }) => id === item);
  // The list may be older than what was just stored.
  const saved = stored?.id === item && stored.updatedAt > (listed?.updatedAt ?? "") ? stored : listed;
  const changed = (funnel: SavedFunnel | null) => {
    setStored(funnel);
    list.reload();
    if (funnel?.id !== item) go({ item: funnel?.id ?? "", own: {} });
  };
  if (item && !saved) {
    return list.error ? <Failed error={list.error} retry={list.reload} />
      : list.value && !list.loading ? <Empty text={t.unknown} /> : <Skeleton lines={8} />;
  }
  return <Funnel key={item} saved={item ? saved! : null} list={list} changed={changed} />;
}

function Funnel({ saved, list, changed }: {
  saved: SavedFunnel | null;
  list: Loaded<SavedFunnel[]>;
  changed: (funnel: SavedFunnel | null) => void;
}) {
  const options = optionsOf(address.value.own, saved);
  const [picked, setSteps] = useState<Step[] | null>(null);
  const suggestions = useSuggestions();
  const first = useRef(START);
  const suggested = firstSteps(suggestions);
  if (suggested !== START) first.current = suggested; // stays while another time range loads
  const steps = picked ?? (options.steps.length ? options.steps : first.current);
  const change = (edited: Step[]) => {
    setSteps(edited);
    goOwn(ownOf({ ...options, steps: edited.filter(isComplete) }, saved), { replace: true });
  };
  const discard = () => {
    setSteps(null);
    go({ own: {} });
  };
  const shown = { ...options, steps: steps.filter(isComplete) };
  const { breakdown } = shown;
  const asked = queryOptions(shown);
  const ask: Ask<"funnel"> | null = shown.steps.length > 1 ? { name: "funnel", options: asked } : null;
  return (
    <>
      <Card title={saved?.name ?? t.steps} className="wide"
        actions={!isShared() && <FunnelActions list={list} saved={saved} options={shown} changed={changed} discard={discard} />}>
        <StepList steps={steps} change={change} suggestions={suggestions} />
        <Settings options={options} set={(part) => goOwn(ownOf({ ...options, ...part }, saved))} />
      </Card>
      <Card title={t.title} ask={ask ?? undefined} file={breakdown ? [{ field: "breakdown", label: fieldName(breakdown) }, ...FILE] : FILE} className="wide">
        {ask ? <Result ask={ask} options={asked} isGoal={(name) => suggestions.goal.includes(name)} steps={shown.steps} /> : <Empty text={isShared() ? t.pickShared : t.pick} />}
      </Card>
    </>
  );
}

/** What is shown before anything is picked: from the start page to a goal, if there is one, or to an event where goals are not known. */
function firstSteps({ goal: [goal], event: [event] }: Suggestions): Step[] {
  if (goal) return [START[0]!, { kind: "goal", value: goal }];
  return isShared() && event ? [START[0]!, { kind: "event", value: event }] : START;
}

const windowName = (seconds: number): string => WINDOWS[seconds] ?? formatDuration(seconds);

function Settings({ options, set }: { options: FunnelOptions; set: (part: Partial<FunnelOptions>) => void }) {
  const { window, by, breakdown } = options;
  const windows = [...new Set([...Object.keys(WINDOWS).map(Number), window])];
  return (
    <div class="settings">
      <label>{t.window}
        <select value={window} onChange={(e) => set({ window: Number(e.currentTarget.value) })}>
          {windows.map((seconds) => <option key={seconds} value={seconds}>{windowName(seconds)}</option>)}
        </select>
      </label>
      <label>{t.by}
        <select value={by} onChange={(e) => set({ by: e.currentTarget.value as FunnelOptions["by"] })}>
          <option value="visitor">{texts.metrics.visitors}</option>
          <option value="session">{texts.metrics.visits}</option>
        </select>
      </label>
      <label>{t.breakdown}
        <select value={breakdown} onChange={(e) => set({ breakdown: e.currentTarget.value })}>
          {[...new Set([...(isShared() ? SHARED_BREAKDOWNS : BREAKDOWNS), breakdown])].map((field) => <option key={field} value={field}>{field ? fieldName(field) : t.none}</option>)}
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

function Result({ ask, options, steps, isGoal }: {
  ask: Ask<"funnel">;
  options: Record<string, unknown>;
  steps: Step[];
  /** Whether a saved goal has this name. */
  isGoal: (name: string) => boolean;
}) {
  const loaded = useAnswer(ask);
  const unknown = loaded.error?.status === 400 ? steps.find(({ kind, value }) => kind === "goal" && !isGoal(value)) : undefined;
  const [shown, setShown] = useState<Shown | null>(null);
  const of = shown && {
    name: "funnel", ...options, step: shown.step, outcome: shown.outcome, ...(shown.group ? { group: shown.group } : {}),
  };
  if (unknown) return <Empty text={t.unknownGoal(unknown.value)} />;
  return (
    <>
      <Async loaded={loaded} isEmpty={({ rows }) => !rows.length} empty={t.nobody}>
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
      <p class="funnel-total">{first.visitors ? t.total(formatPercent(last.conversion_rate, 2), formatNumber(last.visitors), formatNumber(first.visitors)) : t.nobody}</p>
      <ol class="funnel">
        {rows.map((row) => (
          <li key={row.step}>
            <span class="funnel-name">{row.step}. {row.name}</span>
            <span class="funnel-track">{row.visitors > 0 && <span style={{ width: `${row.conversion_rate}%` }} />}</span>
            <span class="funnel-numbers">
              <VisitorsButton class="row-link" open={() => show({ step: row.step, outcome: "completed", group, title: t.completed(row.name) })}>
                {t.visitors(row.visitors, formatNumber(row.visitors))}
              </VisitorsButton>
              <span>{formatPercent(row.conversion_rate, 2)}</span>
              {row.step > 1 && (
                <>
                  <VisitorsButton class="row-link dropped" disabled={!row.dropped}
                    open={() => show({ step: row.step, outcome: "dropped", group, title: t.droppedBefore(row.name) })}>
                    {t.dropped(formatNumber(row.dropped), formatPercent(row.drop_off_rate, 2))}
                  </VisitorsButton>
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
