// A funnel, built by picking its steps: how many go on at each, how many leave, and how long it takes.
import { useMemo, useRef, useState } from "preact/hooks";
import type { Ask } from "../api/ask";
import { isShared, timezone } from "../api/session";
import { type Loaded, useAnswer, withTotal } from "../api/use";
import { Card } from "../components/card";
import { fieldName } from "../components/filter_text";
import { FunnelChart, type ShownVisitors } from "../components/funnel_chart";
import { FunnelGroups, groupName, groupsOf } from "../components/funnel_groups";
import { FunnelActions, useFunnels } from "../components/saved_funnels";
import { type Series, SeriesChart } from "../components/series_chart";
import { Async, Empty, Failed, Skeleton } from "../components/states";
import { type Suggestions, useSuggestions } from "../components/step_inputs";
import { StepList } from "../components/step_list";
import { StepSet } from "../components/step_set";
import { VisitorsDialog } from "../components/visitors_dialog";
import { address, go, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { formatNumber, formatPercent, formatSpan } from "../state/format";
import { DAY, type FunnelOptions, optionsOf, ownOf, queryOptions, type SavedFunnel } from "../state/funnel";
import { defaultGranularity } from "../state/period";
import { isComplete, type Step } from "../state/steps";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";

const t = moreTexts.funnels;
const WINDOWS: Record<number, string> = { 3600: t.windows.hour, [DAY]: t.windows.day, [7 * DAY]: t.windows.week, [30 * DAY]: t.windows.month };
/** What groups are of, beside the properties of events; a shared dashboard knows none of its visitors. */
const BREAKDOWNS: [label: string, fields: string[]][] = [
  [texts.breakdowns.sources, ["visit.channel", "visit.referrer_name", "visit.utm_campaign", "visit.utm_source", "visit.utm_medium", "visit.utm_term", "visit.utm_content", "visit.entry_page"]],
  [texts.breakdowns.devices, ["device_type", "browser_name", "os_name", "screen_resolution"]],
  [texts.breakdowns.places, ["country", "region", "city", "language", "timezone"]],
];
const OF_VISITORS: [label: string, fields: string[]] = [texts.metrics.visitors, ["visitor.is_new"]];
const MOST_EXCLUSIONS = 5;
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
  const ask: Ask<"funnel"> | null = shown.steps.length > 1 ? { name: "funnel", options: queryOptions({ ...shown, breakdown: "" }) } : null;
  return (
    <>
      <Card title={saved?.name ?? t.steps} className="wide"
        actions={!isShared() && <FunnelActions list={list} saved={saved} options={shown} changed={changed} discard={discard} />}>
        <div class="funnel-setup">
          <StepList steps={steps} change={change} suggestions={suggestions} />
          <Settings options={options} suggestions={suggestions} set={(part) => goOwn({ ...ownOf({ ...options, ...part }, saved), group: "" })} />
        </div>
      </Card>
      {ask
        ? <Result ask={ask} breakdown={breakdown} options={shown} isGoal={(name) => suggestions.goal.includes(name)} />
        : <Card title={t.title} className="wide"><Empty text={isShared() ? t.pickShared : t.pick} /></Card>}
    </>
  );
}

/** What is shown before anything is picked: from the start page to a goal, if there is one, or to an event where goals are not known. */
function firstSteps({ goal: [goal], event: [event] }: Suggestions): Step[] {
  if (goal) return [START[0]!, { kind: "goal", value: goal }];
  return isShared() && event ? [START[0]!, { kind: "event", value: event }] : START;
}

const PROPERTY = "properties.";
const breakdownName = (field: string): string => (field.startsWith(PROPERTY) ? field.slice(PROPERTY.length) : fieldName(field));

const windowName = (seconds: number): string => WINDOWS[seconds] ?? formatSpan(seconds);

function Settings({ options, suggestions, set }: { options: FunnelOptions; suggestions: Suggestions; set: (part: Partial<FunnelOptions>) => void }) {
  const { window, by, breakdown, isStrict, exclusions } = options;
  const windows = [...new Set([...Object.keys(WINDOWS).map(Number), window])];
  const properties = useAnswer(isShared() ? null : { name: "custom_events_property_classification" });
  const names = new Set(properties.value?.rows.map(({ property_key: key }) => `properties.${key}`));
  if (breakdown && !BREAKDOWNS.some(([, fields]) => fields.includes(breakdown)) && !OF_VISITORS[1].includes(breakdown)) names.add(breakdown);
  const groups = [...BREAKDOWNS, ...(isShared() ? [] : [OF_VISITORS]), [t.properties, [...names]] as const].filter(([, fields]) => fields.length);
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
      <label>{t.between}
        <select value={isStrict ? "strict" : ""} onChange={(e) => set({ isStrict: e.currentTarget.value !== "" })}>
          <option value="">{t.anything}</option>
          <option value="strict">{t.nothing}</option>
        </select>
      </label>
      <StepSet label={t.without} none={t.excludeNone} steps={exclusions} most={MOST_EXCLUSIONS} suggestions={suggestions}
        change={(steps) => set({ exclusions: steps })} />
      <label>{t.breakdown}
        <select value={breakdown} onChange={(e) => set({ breakdown: e.currentTarget.value })}>
          <option value="">{t.none}</option>
          {groups.map(([label, fields]) => (
            <optgroup key={label} label={label}>
              {fields.map((field) => <option key={field} value={field}>{breakdownName(field)}</option>)}
            </optgroup>
          ))}
        </select>
      </label>
    </div>
  );
}

function Result({ ask, breakdown, options, isGoal }: {
  /** Without the breakdown. */
  ask: Ask<"funnel">;
  breakdown: string;
  options: FunnelOptions;
  /** Whether a saved goal has this name. */
  isGoal: (name: string) => boolean;
}) {
  const { own } = address.value;
  const whole = useAnswer(ask);
  const ofGroups: Ask<"funnel"> = { ...ask, options: { ...ask.options, breakdown } };
  const groups = useAnswer(breakdown ? ofGroups : null);
  const [shown, setShown] = useState<ShownVisitors | null>(null);
  const unknown = whole.error?.status === 400 
    ? [...options.steps, ...options.exclusions].find(({ kind, value }) => kind === "goal" && !isGoal(value)) : undefined;
  const group = breakdown && own.group ? groupsOf(groups.value?.rows ?? []).find(({ key }) => key === own.group) : undefined;
  const of = shown && { name: "funnel", ...(shown.group ? { ...ofGroups.options, group: shown.group } : ask.options), step: shown.step, outcome: shown.outcome };
  return (
    <>
      <Card title={t.title} ask={unknown ? undefined : ask} file={FILE} className="wide" actions={group && (
        <button type="button" class="button" onClick={() => goOwn({ group: "" })}>{t.allGroups}</button>)}>
        {unknown ? <Empty text={t.unknownGoal(unknown.value)} /> : (
          <Async loaded={whole} lines={8} isEmpty={({ rows }) => !rows.length} empty={t.nobody}>
            {({ rows }) => <FunnelChart rows={group?.rows ?? rows} group={group?.query} heading={group && t.ofGroup(fieldName(breakdown), groupName(breakdown, group))} by={options.by} show={setShown} />}
          </Async>
        )}
      </Card>
      {!unknown && <Trend options={ask.options!} by={options.by} />}
      {breakdown && !unknown && (
        <Card title={t.byGroup(fieldName(breakdown))} ask={ofGroups} file={[{ field: "breakdown", label: fieldName(breakdown) }, ...FILE]} className="wide">
          <Async loaded={withTotal(groups, whole)} lines={8} isEmpty={({ rows }) => !rows.length} empty={t.nobody}>
            {({ rows }) => <FunnelGroups groups={groupsOf(rows)} whole={whole.value?.rows ?? []} breakdown={breakdown} show={setShown} />}
          </Async>
        </Card>
      )}
      {shown && <VisitorsDialog title={shown.title} of={of!} close={() => setShown(null)} />}
    </>
  );
}

const TREND_FILE: FileColumn[] = [
  { field: "date", label: texts.chart.bucket },
  { field: "entered", label: t.entered },
  { field: "converted", label: t.completedCount },
  { field: "conversion_rate", label: texts.download.percent(t.conversion) },
  { field: "complete", label: t.isOver },
];

/** Who entered the funnel in each bucket, and the share of them who completed it. */
function Trend({ options, by }: { options: Record<string, unknown>; by: FunnelOptions["by"] }) {
  const { period, granularity } = address.value;
  const width = granularity ?? defaultGranularity(period, timezone.value);
  const ask: Ask<"funnel_trend"> = { name: "funnel_trend", options: { ...options, granularity: width } };
  const loaded = useAnswer(ask);
  const series = useMemo<Series | null>(() => loaded.value && {
    labels: loaded.value.rows.map(({ date }) => date), partial: loaded.value.partialBucket, granularity: width, name: t.trend, format: formatNumber,
    lines: [
      { name: by === "session" ? t.enteredVisits : t.entered, values: loaded.value.rows.map(({ entered }) => entered), format: formatNumber },
      { name: t.completedShare, values: loaded.value.rows.map((row) => row.conversion_rate), format: formatPercent, isRight: true },
    ],
  }, [loaded.value, width, by]);
  return (
    <Card title={t.trend} ask={ask} file={TREND_FILE} className="wide">
      <div class="series-frame">
        <Async loaded={loaded} lines={7} isEmpty={({ rows }) => !rows.some(({ entered }) => entered)} empty={t.nobody}>
          {({ rows }) => (
            <>
              <SeriesChart series={series!} />
              {rows.some(({ complete, entered }) => !complete && entered) && <p class="quiet">{t.canGrow}</p>}
            </>
          )}
        </Async>
      </div>
    </Card>
  );
}
