// Errors in groups of one message, class, file and line, with what became of each since the time before; one group with its
// stack, where it happens and the latest.
import type { ComponentChildren } from "preact";
import type { Ask } from "../api/ask";
import { type ComparedData, useComparedData } from "../api/compared";
import { useMetrics } from "../api/metrics";
import { timezone } from "../api/session";
import { useAnswer, withTotal } from "../api/use";
import { BarList } from "../components/bar_list";
import { Card } from "../components/card";
import { Change } from "../components/change";
import { Columns } from "../components/columns";
import { type Column, DataTable, Pages, parseSort } from "../components/data_table";
import { deviceText, Facts } from "../components/facts";
import { Icon } from "../components/icon";
import { Flag, Logo } from "../components/logo";
import { Country } from "../components/seen_with";
import { mayResolve, StatusButtons, StatusWord } from "../components/errors/error_status";
import { countFormat } from "../components/series_chart";
import { Sparkline } from "../components/sparkline";
import { Async, Skeleton, unlessFiltered } from "../components/states";
import { shownGranularity, TimeSeries } from "../components/time_series";
import { VisitorLink } from "../components/visitor_name";
import { address, addressWith, comparison, follow, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { condition } from "../state/filters";
import { dayOf } from "../state/period";
import { countryName, formatDays, formatInstant, formatNumber, formatPercent, formatRange, listText, shortDay } from "../state/format";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { IconName, Row, Schemas } from "../types";
import { sessionAddress } from "./sessions";

const ROWS = 20;
const TOP = 8;
const t = moreTexts.errors;
type Group = Row<"error_changes">;
type Sample = Row<"error_fingerprints">;
type Filters = NonNullable<Ask<"recent_errors">["filters"]>;
type Status = "open" | "resolved" | "ignored" | "came_back";

/** Whether messages that differ in numbers, ids and addresses alone are one group. */
const isSimilar = (): boolean => address.value.own.similar === "1";
const messageField = () => (isSimilar() ? "message_pattern" : "message");
const grouping = () => (isSimilar() ? { by: messageField() } : {});

const OPEN: Status[] = ["open", "came_back"];
/** Groups that are shown, by the choice in the address; null for all. */
const CHOICES: Record<string, Status[] | null> = { open: OPEN, resolved: ["resolved"], ignored: ["ignored"], all: null };
const statusChoice = (): string => (Object.hasOwn(CHOICES, address.value.own.status ?? "") ? address.value.own.status! : "open");
const ofStatus = (status: Status[] | null) => (status ? { status } : {});

/** Only errors of the release in the address. */
const releaseFilters = (): Filters => (address.value.own.release ? [condition("release", address.value.own.release)] as Filters : []);

export default function Errors() {
  return address.value.item ? <ErrorGroup /> : <AllErrors />;
}

function AllErrors() {
  const before = useComparedData();
  const compares = comparison.value !== "none";
  const hasBefore = compares && before !== "none";
  return (
    <>
      {before || !compares ? <Advice hasBefore={hasBefore} /> : <div class="advice-frame"><Skeleton lines={1} /></div>}
      <Summary before={before} />
      {before || !compares ? <GroupTable hasBefore={hasBefore} /> : <Card title={t.groups} className="wide"><Skeleton lines={7} /></Card>}
      <TimeSeries title={t.series} unit={t.errors} name="error_chart_data" field="totalErrors" filters={releaseFilters()} format={countFormat} />
      <Releases />
    </>
  );
}

/** Errors of each release; a click shows those of one alone. */
function Releases() {
  const { release } = address.value.own;
  const ask: Ask<"errors_by_release"> = { name: "errors_by_release", options: { limit: TOP } };
  const loaded = useAnswer(ask);
  if (!release && !loaded.value?.rows.some(({ name }) => name !== null)) return null;
  return (
    <Card title={t.byRelease} ask={ask} fields={[{ label: t.release, field: "name" }, { label: t.errors, field: "count" }]}>
      <Async loaded={loaded} lines={4} isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => (
          <BarList nameLabel={t.release} valueLabel={t.errors} bars={rows.map(({ name, count }) => ({
            key: String(name), name: name ?? "–", value: count, chosen: name !== null && name === release,
            onClick: name === null ? undefined : () => goOwn({ release: name === release ? "" : name, page: "" }),
          }))} />
        )}
      </Async>
    </Card>
  );
}

interface Compared {
  before: ComparedData | null;
}

const TOTALS: [field: keyof Row<"error_summary">, label: string, format: (value: number) => string][] = [
  ["totalErrors", t.errors, formatNumber],
  ["affectedUsers", t.visitors, formatNumber],
  ["affectedSessions", t.visits, formatNumber],
  ["errorRate", t.rate, (rate) => formatPercent(rate, 2)],
  ["uniqueErrorTypes", t.messages, formatNumber],
];

function Summary({ before }: Compared) {
  const ask: Ask<"error_summary"> = { name: "error_summary", compared: true, filters: releaseFilters() };
  const loaded = useAnswer(ask);
  const compared = loaded.value?.comparison;
  // From no errors at all there is no percentage: that is said once.
  const hadNone = before === "enough" && compared && !compared.rows[0]?.previous?.totalErrors;
  return (
    <Card title={t.summary} heading={moreTexts.events.totals} ask={ask} fields={TOTALS.map(([field, label]) => ({ label, field }))} className="wide">
      <div class="facts-frame">
        <Async loaded={loaded} lines={2}>
          {({ rows: [row], comparison }) => (
            <Facts facts={TOTALS.map(([field, label, format]) => [label, (
              <><span class="figure">{format(row?.[field] ?? 0)}</span>{comparison && !hadNone && <> <Change percent={comparison.rows[0]?.changePercent[field]} before={before} lessIsBetter /></>}</>
            )])} />
          )}
        </Async>
        {hadNone && compared.start && compared.end && <p class="quiet">{noneIn(compared.start, compared.end)}</p>}
      </div>
    </Card>
  );
}

function noneIn(start: string, end: string): string {
  const day = (at: string) => formatDays({ start: at, end: at }, false);
  const [last, until] = formatRange(start, end, timezone.value, (days) => day(days.end));
  return t.noneIn(day(dayOf(Date.parse(start), timezone.value)), until ? `${last}, ${until}` : last);
}

const isWorrying = ({ state }: Pick<Group, "state">): boolean => state === "new" || state === "worse" || state === "back";

/** What to look at first, as a sentence. */
function Advice({ hasBefore }: { hasBefore: boolean }) {
  const filters = releaseFilters();
  const changes = useAnswer({ name: "error_changes", options: { limit: ROWS, ...grouping(), status: OPEN }, filters });
  const states = useAnswer({ name: "error_states", options: { ...grouping(), status: OPEN }, filters });
  return (
    <div class="advice-frame">
      <Async loaded={withTotal(changes, states)} lines={1}>
        {({ rows }) => {
          const [first] = rows;
          const worrying = hasBefore && first && isWorrying(first);
          return (
            <p class={`advice ${worrying ? "worse" : first ? "" : "better"}`}>
              <Icon name={worrying ? "triangle-alert" : first ? "info" : "circle-check"} />
              <span>
                {!first ? unlessFiltered(t.none) : !hasBefore ? comparison.value !== "none" && t.advice.noBefore : worrying ? adviceOf(rows, states.value?.rows ?? []) : t.advice.calm}
                {first && <> {t.advice.start} <a href={groupAddress(first)} onClick={follow}>{first.name}</a> ({t.affected(first.users, formatNumber(first.users))}).</>}
              </span>
            </p>
          );
        }}
      </Async>
    </div>
  );
}

function adviceOf(rows: Group[], states: Row<"error_states">[]): string {
  const count = (state: string): number => states.find((each) => each.state === state)?.groups ?? 0;
  const earliest = rows.filter(({ state, since }) => state === "new" && since).map(({ since }) => since!).toSorted()[0];
  const steepest = rows.filter(({ state }) => state === "worse").map(timesOf).toSorted((a, b) => b - a)[0];
  return sentences([
    count("new") > 0 && t.advice.new(count("new"), earliest ? shortDay(earliest) : null),
    count("worse") > 0 && t.advice.worse(count("worse"), steepest ? formatTimes(steepest) : null),
    count("back") > 0 && t.advice.back(count("back")),
  ]);
}

const sentences = (parts: (string | false)[]): string => `${listText(parts.filter((part) => part !== false))}.`;

/** How many times as many errors as before. */
const timesOf = ({ count, previous_count: before }: Group): number => (before ? count / before : 0);
const formatTimes = (times: number): string => formatNumber(times < 10 ? Math.round(10 * times) / 10 : Math.round(times));

const STATE_ICONS: Record<string, IconName> = { new: "sparkles", worse: "trending-up", back: "history", steady: "minus", better: "trending-down" };

/** What became of a group since the time before, in words. */
function State({ row }: { row: Group }) {
  const { state, since, count, previous_count: before, last_before: last } = row;
  const detail = state === "worse" ? [before ? t.states.times(formatTimes(timesOf(row))) : t.states.before("0"), since && t.states.since(shortDay(since))].filter(Boolean).join(", ")
    : state === "new" ? since && t.states.since(shortDay(since))
      : state === "back" ? last && t.states.lastBefore(formatInstant(last, timezone.value))
        : state === "better" ? t.states.fewer(formatPercent((100 * (before - count)) / before, 0)) : t.states.before(formatNumber(before));
  return (
    <span class={`state ${state}`} title={t.states.hint(formatNumber(count), formatNumber(before))}>
      <span class="state-word"><Icon name={STATE_ICONS[state] ?? "minus"} size={13} />{t.states.words[state] ?? state}</span>
      {detail && <small class="quiet">{detail}</small>}
    </span>
  );
}

/** The file without its host, and the line. */
const place = ({ filename, line }: Pick<Group, "filename" | "line">): string =>
  [filename && URL.canParse(filename) ? new URL(filename).pathname : filename, line].filter((part) => part !== null).join(":");

const groupAddress = (row: Group): string => addressWith({
  item: row.name ?? "", own: { type: row.error_type ?? "", file: row.filename ?? "", line: String(row.line ?? ""), similar: isSimilar() ? "1" : "" },
});

/** Where it happens: the earliest page and browser, and how many others. */
const whereText = ({ path, pages, browser_name: browser, browsers }: Group): string => [
  path && (pages > 1 ? t.andPages(path, pages - 1) : path),
  browser && (browsers > 1 ? t.andBrowsers(browser, browsers - 1) : browser),
].filter(Boolean).join(" · ");

/** The newest release, and how many others. */
const releaseText = ({ release, releases }: Pick<Group, "release" | "releases">): string | null =>
  release && (releases > 1 ? t.andReleases(release, releases - 1) : release);

function columnsOf(visitors: number | undefined, hasBefore: boolean, series: Map<string, (number | null)[]>, isRunning: boolean): Column<Group>[] {
  return [
    {
      key: "name", label: t.message, className: "message", render: (row) => (
        <>
          <a href={groupAddress(row)} onClick={follow}>{row.name}</a>
          <StatusWord status={row.status} />
          <small class="quiet whole-screen" title={row.filename ?? undefined}>{[row.error_type, place(row), releaseText(row)].filter(Boolean).join(" · ")}</small>
          <small class="quiet whole-screen">{whereText(row)}</small>
          <small class="quiet phone-only">{[row.error_type, place(row).replace(/^.*\//, ""), row.path && t.pages(row.pages, formatNumber(row.pages))].filter(Boolean).join(" · ")}</small>
        </>
      ),
    },
    ...(hasBefore ? [{ key: "state", label: t.state, render: (row) => <State row={row} /> } satisfies Column<Group>] : []),
    {
      key: "trend", extra: true, label: t.trend, className: "trend",
      render: (row) => series.has(keyOf(row)) && <Sparkline values={series.get(keyOf(row))!} label={t.trendOf(row.name)} isRunning={isRunning} />,
    },
    { key: "count", label: t.errors, number: true, sortable: true, render: (row) => formatNumber(row.count) },
    {
      key: "users", extra: true, label: t.visitors, number: true, sortable: true,
      render: (row) => <>{formatNumber(row.users)}{visitors ? <small class="quiet"> {formatPercent((100 * row.users) / visitors)}</small> : null}</>,
    },
    { key: "first_seen", extra: "wide", label: t.first, sortable: true, className: "nowrap", render: (row) => formatInstant(row.first_seen, timezone.value) },
    { key: "last_seen", extra: true, label: t.last, sortable: true, className: "nowrap", render: (row) => formatInstant(row.last_seen, timezone.value) },
    ...(mayResolve() ? [{ key: "actions", label: t.statuses.actions, render: (row) => <StatusButtons row={row} /> } satisfies Column<Group>] : []),
  ];
}

const FILE: FileColumn[] = [
  { field: "name", label: t.message },
  { field: "error_type", label: t.type },
  { field: "filename", label: t.place },
  { field: "line", label: t.line },
  { field: "state", label: t.state },
  { field: "since", label: t.sinceDay },
  { field: "status", label: t.statuses.column },
  { field: "release", label: t.release },
  { field: "count", label: t.errors },
  { field: "previous_count", label: texts.download.before(t.errors) },
  { field: "users", label: t.visitors },
  { field: "sessions", label: t.visits },
  { field: "path", label: t.newestPage },
  { field: "browser_name", label: texts.filters.fields.browser_name! },
  { field: "first_seen", label: texts.download.utc(t.first) },
  { field: "last_seen", label: texts.download.utc(t.last) },
];

const RECENT_FILE: FileColumn[] = [
  { field: "timestamp", label: texts.download.utc(texts.chart.bucket) },
  { field: "message", label: t.message },
  { field: "path", label: texts.filters.fields.path! },
  { field: "release", label: t.release },
  { field: "browser_name", label: texts.filters.fields.browser_name! },
  { field: "browser_version", label: t.version },
  { field: "os_name", label: texts.filters.fields.os_name! },
  { field: "country", label: texts.filters.fields.country!, show: countryName },
  { field: "anonymous_id", label: texts.filters.fields.anonymous_id! },
  { field: "session_id", label: texts.filters.fields.session_id! },
];

const TABS = ["all", "new", "worse", "back", "steady", "better"];

function GroupTable({ hasBefore }: { hasBefore: boolean }) {
  const { own } = address.value;
  const page = Math.max(1, Number(own.page) || 1);
  const sort = parseSort(own.sort);
  const state = hasBefore && own.state !== "all" && TABS.includes(own.state ?? "") ? own.state! : null;
  const choice = statusChoice();
  const [only, filters] = [ofStatus(CHOICES[choice]!), releaseFilters()];
  const ask: Ask<"error_changes"> = { name: "error_changes", filters, options: { limit: ROWS, page, ...grouping(), ...only, ...(sort ? { orderBy: [sort] } : {}), ...(state ? { state } : {}) } };
  const loaded = useAnswer(ask);
  const states = useAnswer(hasBefore ? { name: "error_states", options: { ...grouping(), ...only }, filters } : null);
  const visitors = useAnswer({ name: "summary_metrics" }).value?.rows[0]?.unique_visitors;
  const { series, isRunning } = useGroupSeries(loaded.value?.rows ?? []);
  const groups = (id: string): number => states.value?.rows.reduce((sum, each) => sum + (id === "all" || each.state === id ? each.groups : 0), 0) ?? 0;
  const tabs = TABS.filter((id) => id === "all" || id === state || groups(id)).map((id) => (
    { id, label: `${id === "all" ? t.states.all : t.states.words[id]} ${states.value ? formatNumber(groups(id)) : ""}` }));
  return (
    <Card title={t.groups} ask={ask} file={FILE} className="wide" tabs={hasBefore ? tabs : undefined} tab={state ?? "all"}
      onTab={(id) => goOwn({ state: id === "all" ? "" : id, page: "" })} actions={(
        <>
          <label class="check" title={t.similarNote}><input type="checkbox" checked={isSimilar()} onChange={(event) => goOwn({ similar: event.currentTarget.checked ? "1" : "", page: "" })} />{t.similar}</label>
          <select aria-label={t.statuses.show} value={choice} onChange={(event) => goOwn({ status: event.currentTarget.value === "open" ? "" : event.currentTarget.value, page: "" })}>
            {Object.keys(CHOICES).map((id) => <option key={id} value={id}>{t.statuses.choices[id]}</option>)}
          </select>
        </>
      )}>
      <Async loaded={loaded} lines={5} isEmpty={({ rows }) => !rows.length} empty={unlessFiltered(choice === "all" ? t.none : t.statuses.none)}>
        {({ rows, total }) => (
          <>
            <DataTable label={t.groups} className="errors" columns={columnsOf(visitors, hasBefore, series, isRunning)} rows={rows} rowKey={keyOf} sort={sort}
              onSort={({ field, direction }) => goOwn({ sort: `${field}:${direction}`, page: "" })} />
            <Pages page={page} total={total} size={ROWS} go={(to) => goOwn({ page: to > 1 ? String(to) : "" })} />
          </>
        )}
      </Async>
    </Card>
  );
}

const groupFields = (): string[] => [messageField(), "error_type", "filename", "lineno"];
const keyOf = ({ name, error_type: type, filename, line }: Group): string => JSON.stringify([name, type, filename, line]);

/** Errors of each day, or hour, by group. */
function useGroupSeries(rows: Group[]): { series: Map<string, (number | null)[]>; isRunning: boolean } {
  const by = shownGranularity();
  const time = `time:${METRIC_BUCKETS[by] ?? "day"}`;
  const buckets = useAnswer({ name: "error_chart_data", options: { granularity: by } }).value;
  const loaded = useMetrics(rows.length ? {
    metrics: ["errors"], dimensions: [...groupFields(), time], limit: 10_000,
    filters: [...releaseFilters(), { field: messageField(), operator: "in", value: [...new Set(rows.map(({ name }) => name))] }] as Schemas["Filter"][],
  } : null);
  const labels = buckets?.rows.map(({ date }) => date) ?? [];
  const at = new Map(labels.map((label, i) => [label, i]));
  const series = new Map<string, (number | null)[]>();
  for (const row of loaded.value ?? []) {
    const key = JSON.stringify(groupFields().map((field) => row[field]));
    const values = series.get(key) ?? labels.map(() => 0);
    const position = at.get(String(row[time]));
    if (position !== undefined) values[position] = Number(row.errors);
    series.set(key, values);
  }
  const partial = buckets?.partialBucket ?? null;
  return { series: buckets ? series : new Map(), isRunning: partial !== null && labels.at(-1) === partial };
}

/** Buckets of metrics queries by those of series. */
const METRIC_BUCKETS: Record<string, string> = { minute: "minute", quarter_hour: "quarter_hour", hourly: "hour", daily: "day", weekly: "week", monthly: "month" };

/** What makes the group of the address. */
function groupFilters(): Filters {
  const { item, own } = address.value;
  return [
    condition(messageField(), item),
    condition("error_type", own.type || null),
    condition("filename", own.file || null),
    own.line ? { field: "lineno", operator: "eq", value: Number(own.line) } : condition("lineno", null),
  ] as Filters;
}

function ErrorGroup() {
  const { item } = address.value;
  const filters = groupFilters();
  const ask: Ask<"error_fingerprints"> = { name: "error_fingerprints", options: { limit: 1, ...grouping() }, filters };
  const loaded = useAnswer(ask);
  const changes = useAnswer({ name: "error_changes", options: { limit: 1, ...grouping() }, filters });
  const before = useComparedData();
  return (
    <>
      <p class="crumbs"><a href={addressWith({ item: "", own: isSimilar() ? { similar: "1" } : {} })} onClick={follow}>{t.back}</a></p>
      <Card title={item} ask={ask} fields={FILE.slice(0, 4)} className="wide">
        <Async loaded={loaded} lines={6} isEmpty={({ rows }) => !rows.length} empty={t.unknown}>
          {({ rows: [row] }) => <GroupFacts row={row!} group={changes.value?.rows[0]} hasBefore={before !== null && before !== "none"} />}
        </Async>
      </Card>
      <TimeSeries title={t.series} unit={t.errors} name="error_chart_data" field="totalErrors" filters={filters} format={countFormat} />
      <Columns>{[
        <Top key="release" title={t.release} dimension="release" filters={filters} />,
        <Top key="path" title={texts.filters.fields.path!} dimension="path" filters={filters} />,
        <Top key="browser_name" title={texts.filters.fields.browser_name!} dimension="browser_name" filters={filters} image={(name) => <Logo name={name} />} />,
        <Top key="os_name" title={texts.filters.fields.os_name!} dimension="os_name" filters={filters} image={(name) => <Logo name={name} other="monitor" />} />,
        <Top key="country" title={texts.filters.fields.country!} dimension="country" filters={filters} image={(code) => <Flag country={code} />} display={countryName} />,
      ]}</Columns>
      <Recent filters={filters} />
    </>
  );
}

function GroupFacts({ row, group, hasBefore }: { row: Sample; group: Group | undefined; hasBefore: boolean }) {
  return (
    <>
      {group && (group.status !== "open" || mayResolve()) && (
        <p class="row-actions"><StatusWord status={group.status} /> {mayResolve() && <StatusButtons row={group} withWords />}</p>
      )}
      <Facts strip facts={[
        [t.state, hasBefore && group && <State row={group} />],
        [t.errors, formatNumber(row.count)],
        [t.visitors, formatNumber(row.users)],
        [t.visits, formatNumber(row.sessions)],
        [t.first, formatInstant(row.first_seen, timezone.value)],
        [t.last, formatInstant(row.last_seen, timezone.value)],
        [t.type, row.error_type],
        [t.place, <span title={row.filename ?? undefined}>{place(row)}</span>],
        [t.release, group && releaseText(group)],
      ]} />
      {row.stack && <><h3 class="stack-title">{t.stack}</h3><pre tabIndex={0}>{row.stack}</pre></>}
    </>
  );
}

function Top({ title, dimension, filters, image, display = (name) => name }: {
  title: string;
  dimension: string;
  filters: Filters;
  image?: (name: string) => ComponentChildren;
  display?: (name: string) => string;
}) {
  const loaded = useMetrics({ metrics: ["errors"], dimensions: [dimension], filters, limit: TOP });
  return (
    <Card title={title}>
      <Async loaded={loaded} lines={4} isEmpty={(rows) => !rows.length}>
        {(rows) => (
          <BarList nameLabel={title} valueLabel={t.errors} bars={rows.map((row) => ({
            key: String(row[dimension]), name: display(String(row[dimension] ?? "–")), image: row[dimension] ? image?.(String(row[dimension])) : undefined,
            value: Number(row.errors),
          }))} />
        )}
      </Async>
    </Card>
  );
}

function Recent({ filters }: { filters: Filters }) {
  const ask: Ask<"recent_errors"> = { name: "recent_errors", options: { limit: ROWS }, filters };
  const loaded = useAnswer(ask);
  return (
    <Card title={t.recent} ask={ask} file={RECENT_FILE} className="wide">
      <Async loaded={loaded} lines={6} isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => (
          <DataTable label={t.recent} rows={rows} className="many" columns={[
            {
              key: "time", label: texts.chart.bucket, render: ({ session_id: session, timestamp }) => {
                const text = formatInstant(timestamp, timezone.value, true);
                return session ? <a href={sessionAddress(session)} onClick={follow}>{text}</a> : text;
              },
            },
            { key: "path", label: texts.filters.fields.path!, className: "long", render: (row) => row.path ?? "–" },
            { key: "release", extra: true, label: t.release, render: (row) => row.release ?? "–" },
            { key: "browser", extra: true, label: texts.filters.fields.browser_name!, render: (row) => deviceText(row.browser_name, row.browser_version) },
            { key: "os", extra: true, label: texts.filters.fields.os_name!, render: (row) => deviceText(row.os_name, row.os_version) },
            { key: "country", extra: true, label: texts.filters.fields.country!, render: (row) => <Country code={row.country} /> },
            { key: "visitor", extra: true, label: moreTexts.visitors.visitor, render: (row) => (row.anonymous_id ? <VisitorLink id={row.anonymous_id} /> : "–") },
          ]} />
        )}
      </Async>
    </Card>
  );
}
