// Errors in groups of one message, class, file and line; one group with its stack, where it happens and the latest.
import type { Ask, ComparedRow } from "../api/ask";
import { type ComparedData, useComparedData } from "../api/compared";
import { useMetrics } from "../api/metrics";
import { timezone } from "../api/session";
import { useAnswer } from "../api/use";
import { BarList } from "../components/bar_list";
import { Card } from "../components/card";
import { Change, changeColumn, changeFile } from "../components/change";
import { type Column, DataTable, Pages, parseSort } from "../components/data_table";
import { deviceText, Facts } from "../components/facts";
import { countFormat } from "../components/series_chart";
import { Async, unlessFiltered } from "../components/states";
import { TimeSeries } from "../components/time_series";
import { address, addressWith, follow, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { condition } from "../state/filters";
import { countryName, formatInstant, formatNumber, formatPercent } from "../state/format";
import { texts } from "../texts";
import type { Row } from "../types";
import { sessionAddress } from "./sessions";

const ROWS = 20;
const TOP = 8;
const t = texts.errors;
type Group = Row<"error_fingerprints">;
type Filters = NonNullable<Ask<"recent_errors">["filters"]>;

export default function Errors() {
  return address.value.item ? <ErrorGroup /> : <AllErrors />;
}

function AllErrors() {
  const before = useComparedData();
  return (
    <>
      <Summary before={before} />
      <TimeSeries title={t.series} unit={t.errors} name="error_chart_data" field="totalErrors" format={countFormat} />
      <GroupTable before={before} />
    </>
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

/** From no errors at all there is no percentage. */
function TotalChange({ field, compared, before }: { field: string; compared?: ComparedRow } & Compared) {
  if (before === "enough" && !compared?.previous?.totalErrors) return <span class="change">{t.noneBefore}</span>;
  return <Change percent={compared?.changePercent[field]} before={before} lessIsBetter />;
}

function Summary({ before }: Compared) {
  const ask: Ask<"error_summary"> = { name: "error_summary", compared: true };
  const loaded = useAnswer(ask);
  return (
    <Card title={t.summary} ask={ask} fields={TOTALS.map(([field, label]) => ({ label, field }))} className="wide">
      <div class="facts-frame">
        <Async loaded={loaded} lines={2}>
          {({ rows: [row], comparison }) => (
            <Facts facts={TOTALS.map(([field, label, format]) => [label, (
              <>{format(row?.[field] ?? 0)}{comparison && <> <TotalChange field={field} compared={comparison.rows[0]} before={before} /></>}</>
            )])} />
          )}
        </Async>
      </div>
    </Card>
  );
}

const place = (row: Group): string => [row.filename, row.line].filter((part) => part !== null).join(":");

const groupAddress = (row: Group): string => addressWith({
  item: row.name ?? "", own: { type: row.error_type ?? "", file: row.filename ?? "", line: String(row.line ?? "") },
});

const COLUMNS: Column<Group>[] = [
  {
    key: "name", label: t.message, className: "message", render: (row) => (
      <>
        <a href={groupAddress(row)} onClick={follow}>{row.name}</a>
        <small>{[row.error_type, place(row)].filter(Boolean).join(" · ")}</small>
      </>
    ),
  },
  { key: "count", label: t.errors, number: true, sortable: true, render: (row) => formatNumber(row.count) },
  { key: "users", extra: true, label: t.visitors, number: true, sortable: true, render: (row) => formatNumber(row.users) },
  { key: "first_seen", extra: "wide", label: t.first, sortable: true, className: "nowrap", render: (row) => formatInstant(row.first_seen, timezone.value) },
  { key: "last_seen", extra: true, label: t.last, sortable: true, className: "nowrap", render: (row) => formatInstant(row.last_seen, timezone.value) },
];

const COUNT: [string, string] = ["count", t.errors];
const FILE: FileColumn[] = [
  { field: "name", label: t.message },
  { field: "error_type", label: t.type },
  { field: "filename", label: t.place },
  { field: "line", label: t.line },
  { field: "path", label: t.newestPage },
  { field: "count", label: t.errors },
  { field: "users", label: t.visitors },
  { field: "sessions", label: t.visits },
  { field: "first_seen", label: texts.download.utc(t.first) },
  { field: "last_seen", label: texts.download.utc(t.last) },
];

const RECENT_FILE: FileColumn[] = [
  { field: "timestamp", label: texts.download.utc(texts.chart.bucket) },
  { field: "message", label: t.message },
  { field: "path", label: texts.filters.fields.path! },
  { field: "browser_name", label: texts.filters.fields.browser_name! },
  { field: "browser_version", label: t.version },
  { field: "os_name", label: texts.filters.fields.os_name! },
  { field: "country", label: texts.filters.fields.country!, show: countryName },
  { field: "anonymous_id", label: texts.filters.fields.anonymous_id! },
  { field: "session_id", label: texts.filters.fields.session_id! },
];

function GroupTable({ before }: Compared) {
  const { own } = address.value;
  const page = Math.max(1, Number(own.page) || 1);
  const sort = parseSort(own.sort) ?? { field: "count", direction: "desc" as const };
  const ask: Ask<"error_fingerprints"> = { name: "error_fingerprints", compared: true, options: { limit: ROWS, page, orderBy: [sort] } };
  const loaded = useAnswer(ask);
  return (
    <Card title={t.groups} ask={ask} file={[...FILE, ...changeFile(COUNT, before)]} className="wide">
      <Async loaded={loaded} lines={8} isEmpty={({ rows }) => !rows.length} empty={unlessFiltered(t.none)}>
        {({ rows, total, comparison }) => (
          <>
            <DataTable label={t.groups} columns={[...COLUMNS.slice(0, 2), ...changeColumn<Group>(COUNT, comparison?.rows, before, true), ...COLUMNS.slice(2)]} rows={rows} sort={sort}
              onSort={({ field, direction }) => goOwn({ sort: `${field}:${direction}`, page: "" })} />
            <Pages page={page} pages={Math.ceil(total / ROWS)} go={(to) => goOwn({ page: to > 1 ? String(to) : "" })} />
          </>
        )}
      </Async>
    </Card>
  );
}

/** What makes the group of the address. */
function groupFilters(): Filters {
  const { item, own } = address.value;
  return [
    condition("message", item),
    condition("error_type", own.type || null),
    condition("filename", own.file || null),
    own.line ? { field: "lineno", operator: "eq", value: Number(own.line) } : condition("lineno", null),
  ] as Filters;
}

function ErrorGroup() {
  const { item } = address.value;
  const filters = groupFilters();
  const ask: Ask<"error_fingerprints"> = { name: "error_fingerprints", options: { limit: 1 }, filters };
  const loaded = useAnswer(ask);
  return (
    <>
      <p class="crumbs"><a href={addressWith({ item: "", own: {} })} onClick={follow}>{t.back}</a></p>
      <Card title={item} ask={ask} fields={FILE} className="wide">
        <Async loaded={loaded} lines={6} isEmpty={({ rows }) => !rows.length} empty={t.unknown}>
          {({ rows: [row] }) => <GroupFacts row={row!} />}
        </Async>
      </Card>
      <TimeSeries title={t.series} unit={t.errors} name="error_chart_data" field="totalErrors" filters={filters} format={countFormat} />
      <div class="cards part">
        <Top title={texts.filters.fields.path!} dimension="path" filters={filters} />
        <Top title={texts.filters.fields.browser_name!} dimension="browser_name" filters={filters} />
      </div>
      <Recent filters={filters} />
    </>
  );
}

function GroupFacts({ row }: { row: Group }) {
  return (
    <>
      <Facts facts={[
        [t.errors, formatNumber(row.count)],
        [t.visitors, formatNumber(row.users)],
        [t.visits, formatNumber(row.sessions)],
        [t.first, formatInstant(row.first_seen, timezone.value)],
        [t.last, formatInstant(row.last_seen, timezone.value)],
        [t.type, row.error_type],
        [t.place, place(row)],
      ]} />
      {row.stack && <><h3 class="stack-title">{t.stack}</h3><pre tabIndex={0}>{row.stack}</pre></>}
    </>
  );
}

function Top({ title, dimension, filters }: { title: string; dimension: string; filters: Filters }) {
  const loaded = useMetrics({ metrics: ["errors"], dimensions: [dimension], filters, limit: TOP });
  return (
    <Card title={title}>
      <Async loaded={loaded} lines={4} isEmpty={(rows) => !rows.length}>
        {(rows) => (
          <BarList nameLabel={title} valueLabel={t.errors} bars={rows.map((row) => ({
            key: String(row[dimension]), name: String(row[dimension] ?? "–"), value: Number(row.errors),
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
            { key: "browser", extra: true, label: texts.filters.fields.browser_name!, render: (row) => deviceText(row.browser_name, row.browser_version) },
            { key: "os", extra: true, label: texts.filters.fields.os_name!, render: (row) => deviceText(row.os_name, row.os_version) },
            { key: "country", extra: true, label: texts.filters.fields.country!, render: (row) => countryName(row.country) },
          ]} />
        )}
      </Async>
    </Card>
  );
}
