// Visits one by one, and what happened in one of them.
import type { Ask } from "../api/ask";
import { timezone } from "../api/session";
import { useAnswer } from "../api/use";
import { Card } from "../components/card";
import { type Column, DataTable, Pages, parseSort } from "../components/data_table";
import { Facts } from "../components/facts";
import { amountsText, type Revenue, useRevenueBy } from "../components/money";
import { RevenueCell } from "../components/revenue_cell";
import { Country, Device, Source } from "../components/seen_with";
import { Async, Empty } from "../components/states";
import { type Entry, Timeline } from "../components/timeline";
import { VisitorLink } from "../components/visitor_name";
import { address, addressWith, follow, goOwn } from "../state/address";
import { aliasOf } from "../state/alias";
import { type FileColumn, guarded } from "../state/csv";
import { kindOf } from "../state/event_kinds";
import { equals } from "../state/filters";
import { countryName, formatDuration, formatInstant, formatNumber } from "../state/format";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Row } from "../types";

const ROWS = 25;
const MOST_EVENTS = 500;
const t = moreTexts.sessions;
const m = texts.metrics;
type Session = Row<"session_list">;

export default function Sessions() {
  const { item } = address.value;
  return item ? <SessionDetail key={item} id={item} /> : <SessionTable />;
}

/** The address of a visit, without filters: they would hide a part of it. */
export const sessionAddress = (id: string): string => addressWith({ view: "sessions", item: id, filters: [] });

/** The first page of a visit. */
export const entryOf = (events: Session["events"]): string | undefined =>
  events.find(([, , name]) => kindOf(String(name)) === "page_view")?.[3] as string | undefined;

const COLUMNS: Column<Session>[] = [
  {
    key: "first_visit", label: t.began, sortable: true, className: "when",
    render: (row) => (
      <>
        <a href={sessionAddress(row.session_id)} onClick={follow}>{formatInstant(row.first_visit, timezone.value)}</a>
        {row.visitor_id && <div class="phone-only quiet">{aliasOf(row.visitor_id)}</div>}
      </>
    ),
  },
  { key: "visitor_id", extra: true, label: t.visitor, className: "nowrap", render: (row) => (row.visitor_id ? <VisitorLink id={row.visitor_id} /> : "–") },
  { key: "source", extra: true, label: t.source, sortable: true, className: "nowrap", render: (row) => <Source name={row.source} /> },
  { key: "entry", label: t.entry, className: "long", render: (row) => <>{entryOf(row.events) ?? "–"}<div class="phone-only quiet"><Source name={row.source} /></div></> },
  { key: "page_views", label: m.pageviews, number: true, sortable: true, render: (row) => formatNumber(row.page_views) },
  { key: "duration", extra: true, label: t.length, number: true, render: (row) => formatDuration(row.duration) },
  { key: "country", extra: "wide", label: t.country, sortable: true, className: "nowrap", render: (row) => <Country code={row.country} /> },
  { key: "device", extra: "wide", label: t.device, className: "nowrap", render: (row) => <Device device={row.device_type} browser={row.browser_name} system={row.os_name} short /> },
];
const VALUE_AT = COLUMNS.findIndex(({ key }) => key === "duration") + 1;

function valueColumns(values: Revenue | null): Column<Session>[] {
  if (!values) return [];
  return [{
    key: "value", extra: true, label: t.value, number: true,
    render: (row) => <RevenueCell of={values} name={row.session_id} />,
  }];
}

const FILE: FileColumn[] = [
  { field: "first_visit", label: texts.download.utc(t.began) },
  { field: "last_visit", label: texts.download.utc(t.lastEvent) },
  { field: "duration", label: texts.download.seconds(t.length) },
  { field: "events", label: t.entry, show: (events) => guarded(entryOf(JSON.parse(events)) ?? "") },
  { field: "page_views", label: m.pageviews },
  { field: "source", label: t.source },
  { field: "country", label: t.country, show: countryName },
  { field: "device_type", label: t.device },
  { field: "browser_name", label: texts.filters.fields.browser_name! },
  { field: "os_name", label: texts.filters.fields.os_name! },
  { field: "visitor_id", label: t.visitor },
  { field: "session_id", label: texts.filters.fields.session_id! },
];

function SessionTable() {
  const { own } = address.value;
  const page = Math.max(1, Number(own.page) || 1);
  const sort = parseSort(own.sort) ?? { field: "first_visit", direction: "desc" as const };
  const ask: Ask<"session_list"> = { name: "session_list", options: { limit: ROWS, page, orderBy: [sort] } };
  const loaded = useAnswer(ask);
  const values = useRevenueBy("session_id", loaded.value?.rows.map((row) => row.session_id) ?? []);
  return (
    <Card title={t.title} heading={loaded.value ? t.count(loaded.value.total, formatNumber(loaded.value.total)) : undefined} ask={ask} file={FILE} className="wide">
      <Async loaded={loaded} lines={14} isEmpty={({ rows }) => !rows.length}>
        {({ rows, total }) => (
          <>
            <DataTable label={t.title} className="many" columns={[...COLUMNS.slice(0, VALUE_AT), ...valueColumns(values), ...COLUMNS.slice(VALUE_AT)]} rows={rows}
              rowKey={(row) => row.session_id} sort={sort}
              onSort={({ field, direction }) => goOwn({ sort: `${field}:${direction}`, page: "" })} />
            <Pages page={page} total={total} size={ROWS} go={(to) => goOwn({ page: to > 1 ? String(to) : "" })} />
          </>
        )}
      </Async>
    </Card>
  );
}

function SessionDetail({ id }: { id: string }) {
  const filters = [equals("session_id", id)];
  const ask: Ask<"session_events"> = { name: "session_events", options: { limit: MOST_EVENTS }, filters };
  const summary = useAnswer({ name: "session_list", options: { limit: 1 }, filters });
  const events = useAnswer(ask);
  const errors = useAnswer({ name: "recent_errors", options: { limit: MOST_EVENTS }, filters });
  const back = <a class="quiet-button" href={addressWith({ item: "" })} onClick={follow}>{t.back}</a>;
  return (
    <>
      <Card title={t.one(id)} className="wide" actions={back}>
        <Async loaded={summary} lines={2} isEmpty={({ rows }) => !rows.length} empty={t.unknown}>
          {({ rows: [row] }) => <SessionFacts row={row!} />}
        </Async>
      </Card>
      <Card title={t.timeline} ask={ask} className="wide">
        <Async loaded={events} lines={8}>
          {({ rows, total }) => (
            <>
              {total > rows.length && <p class="notice">{t.first(rows.length, total)}</p>}
              {rows.length || errors.value?.rows.length
                ? <Timeline label={t.timeline} entries={entriesOf(rows, errors.value?.rows ?? [])} />
                : <Empty text={t.unknown} />}
            </>
          )}
        </Async>
      </Card>
    </>
  );
}

function SessionFacts({ row }: { row: Session }) {
  const values = useRevenueBy("session_id", [row.session_id]);
  return (
    <Facts strip facts={[
      [t.visitor, row.visitor_id && <VisitorLink id={row.visitor_id} />],
      [t.began, formatInstant(row.first_visit, timezone.value)],
      [t.length, formatDuration(row.duration)],
      [m.pageviews, formatNumber(row.page_views)],
      [t.value, values?.amounts.has(row.session_id) ? amountsText(values.amounts.get(row.session_id)!) : null],
      [t.source, <Source name={row.source} />],
      [t.country, row.country && <Country code={row.country} />],
      [t.device, <Device device={row.device_type} browser={row.browser_name} system={row.os_name} />],
    ]} />
  );
}

function entriesOf(events: Row<"session_events">[], errors: Row<"recent_errors">[]): Entry[] {
  const entries: Entry[] = [
    ...events.map((row) => ({
      time: row.time, kind: row.kind as Entry["kind"], name: row.href ?? row.event_name, path: row.path, properties: row.properties, session: row.session_id,
    })),
    ...errors.map((row) => ({
      time: row.timestamp, kind: "error" as const, name: row.message ?? "", path: row.path, properties: null, session: row.session_id,
    })),
  ];
  return entries.sort((a, b) => Date.parse(a.time ?? "") - Date.parse(b.time ?? ""));
}
