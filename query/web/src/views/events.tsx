// Custom events: all names, and one of them with its trend, its properties and the latest ones.
import type { Ask } from "../api/ask";
import { useComparedData } from "../api/compared";
import { isShared, timezone } from "../api/session";
import { useAnswer, withTotal } from "../api/use";
import { Card } from "../components/card";
import { Change, changeColumn, changeFile, RowChange } from "../components/change";
import { type Column, DataTable, Pages, parseSort } from "../components/data_table";
import { Facts } from "../components/facts";
import { amountsText, type Revenue, useMoney, useRevenueBy } from "../components/money";
import { PropertyCard } from "../components/property_card";
import { RevenueCell } from "../components/revenue_cell";
import { Search } from "../components/search";
import { countFormat } from "../components/series_chart";
import { Async, unlessFiltered } from "../components/states";
import { TimeSeries } from "../components/time_series";
import { Properties } from "../components/timeline";
import { VisitorsLink } from "../components/visitors_button";
import { address, addressWith, follow, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { equals } from "../state/filters";
import { formatInstant, formatNumber, formatPercent } from "../state/format";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Row } from "../types";
import { sessionAddress } from "./sessions";

const ROWS = 50;
const RECENT = 20;
const MOST_VALUES = 1000;
const t = moreTexts.events;
const m = texts.metrics;

export default function Events() {
  const { item } = address.value;
  return item ? <EventDetail key={item} name={item} /> : <AllEvents />;
}

type OneEvent = Row<"custom_events">;

const COLUMNS: Column<OneEvent>[] = [
  {
    key: "name", label: t.event, sortable: true, className: "long",
    render: (row) => <a href={addressWith({ item: row.name, own: {} })} onClick={follow}>{row.name}</a>,
  },
  { key: "total_events", label: m.events, number: true, sortable: true, render: (row) => formatNumber(row.total_events) },
  { key: "unique_users", extra: true, label: m.visitors, number: true, sortable: true, render: (row) => <EventVisitors {...row} /> },
  { key: "unique_sessions", extra: true, label: m.visits, number: true, sortable: true, render: (row) => formatNumber(row.unique_sessions) },
  { key: "last_occurrence", extra: true, label: t.last, sortable: true, className: "nowrap", render: (row) => formatInstant(row.last_occurrence, timezone.value) },
];

const EventVisitors = ({ name, unique_users: visitors }: Pick<OneEvent, "name" | "unique_users">) => (
  <VisitorsLink filter={equals("name", name)} name={name}>{formatNumber(visitors)}</VisitorsLink>
);

/** The share of all events that are found. */
const shareOf = (events: unknown, all: number): number => (all ? (100 * Number(events)) / all : 0);
const shareColumn = (all: number): Column<OneEvent> =>
  ({ key: "share", extra: true, label: t.share, number: true, bar: (row) => shareOf(row.total_events, all) / 100, render: (row) => formatPercent(shareOf(row.total_events, all)) });

const revenueColumns = (values: Revenue | null): Column<OneEvent>[] => (values ? [{
  key: "revenue", extra: true, label: t.revenue, number: true, render: (row) => <RevenueCell of={values} name={row.name} />,
}] : []);

/** Of all rows, where they have one currency. */
function revenueSum(values: Revenue | null): string | null {
  const amounts = [...(values?.amounts.values() ?? [])].flat();
  const [first] = amounts;
  if (!first || amounts.some(([currency]) => currency !== first[0])) return null;
  return amountsText([[first[0], amounts.reduce((sum, [, value]) => sum + value, 0)]]);
}

const TOTAL: [string, string] = ["total_events", m.events];
const fileOf = (all: number): FileColumn[] => [
  { field: "name", label: t.event },
  { field: "total_events", label: m.events },
  { field: "total_events", label: texts.download.percent(t.share), show: (events) => shareOf(events, all).toFixed(2) },
  { field: "unique_users", label: m.visitors },
  { field: "unique_sessions", label: m.visits },
  { field: "first_occurrence", label: texts.download.utc(t.first) },
  { field: "last_occurrence", label: texts.download.utc(t.last) },
];

const FIELDS = fileOf(0).filter(({ show }) => !show);

const RECENT_FILE: FileColumn[] = [
  { field: "timestamp", label: texts.download.utc(texts.chart.bucket) },
  { field: "event_name", label: t.event },
  { field: "path", label: texts.filters.fields.path! },
  { field: "properties", label: t.properties },
  { field: "anonymous_id", label: texts.filters.fields.anonymous_id! },
  { field: "session_id", label: texts.filters.fields.session_id! },
];

function AllEvents() {
  const search = address.value.own.q ?? "";
  const filters = search ? [{ ...equals("name", search), operator: "contains" as const }] : [];
  return (
    <>
      <TimeSeries title={t.series} unit={m.events} name="custom_events_trends" field="total_events" filters={filters} format={countFormat} />
      <EventTable search={search} filters={filters} />
    </>
  );
}

function EventTable({ search, filters }: { search: string } & OfEvent) {
  const { own } = address.value;
  const page = Math.max(1, Number(own.page) || 1);
  const sort = parseSort(own.sort) ?? { field: "total_events", direction: "desc" as const };
  const ask: Ask<"custom_events"> = {
    name: "custom_events", compared: true, options: { limit: ROWS, page, orderBy: [sort] }, filters,
  };
  const loaded = useAnswer(ask);
  const totals = useAnswer({ name: "custom_events_summary", compared: true, filters });
  const sums = totals.value;
  const before = useComparedData();
  const all = sums?.rows[0];
  const values = useRevenueBy("name", loaded.value?.rows.map(({ name }) => name) ?? []);
  return (
    <Card title={t.title} ask={ask} definition={t.definition} file={all ? [...fileOf(all.total_events), ...changeFile(TOTAL, before)] : null} className="wide">
      <Search value={search} />
      <Async loaded={withTotal(loaded, totals)} lines={8} isEmpty={({ rows }) => !rows.length} empty={search ? texts.states.emptySearch(search) : unlessFiltered(t.none)}>
        {({ rows, total, comparison }) => (
          <>
            <DataTable label={t.title} rows={rows} rowKey={(row) => row.name} sort={sort}
              columns={[
                ...COLUMNS.slice(0, 2), ...changeColumn<OneEvent>(TOTAL, comparison?.rows, before), shareColumn(all?.total_events ?? 0),
                ...COLUMNS.slice(2, -1), ...revenueColumns(values), ...COLUMNS.slice(-1),
              ]}
              totals={all && {
                name: t.total,
                total_events: formatNumber(all.total_events),
                change: sums.comparison && before === "enough" && <Change percent={sums.comparison.rows[0]?.changePercent.total_events} before={before} />,
                share: formatPercent(shareOf(all.total_events, all.total_events)),
                unique_users: <span title={t.once}>{formatNumber(all.unique_users)}</span>,
                unique_sessions: <span title={t.once}>{formatNumber(all.unique_sessions)}</span>,
                revenue: total === rows.length && revenueSum(values),
              }}
              onSort={({ field, direction }) => goOwn({ sort: `${field}:${direction}`, page: "" })} />
            <Pages page={page} total={total} size={ROWS} go={(to) => goOwn({ page: to > 1 ? String(to) : "" })} />
          </>
        )}
      </Async>
    </Card>
  );
}

function EventDetail({ name }: { name: string }) {
  const filters = [equals("name", name)];
  return (
    <>
      <p class="crumbs"><a href={addressWith({ item: "" })} onClick={follow}>{t.back}</a> <span aria-hidden="true">›</span> <strong>{name}</strong></p>
      <EventTotals filters={filters} />
      <TimeSeries title={t.trend(name)} unit={m.events} name="custom_events_trends" field="total_events" filters={filters} format={countFormat} />
      {!isShared() && (
        <>
          <EventProperties name={name} filters={filters} />
          <RecentEvents filters={filters} />
        </>
      )}
    </>
  );
}

function EventTotals({ filters }: OfEvent) {
  const ask: Ask<"custom_events"> = { name: "custom_events", options: { limit: 1 }, compared: true, filters };
  const loaded = useAnswer(ask);
  const before = useComparedData();
  return (
    <Card title={t.totals} ask={ask} fields={FIELDS} definition={t.definition} className="wide">
      <div class="facts-frame">
        <Async loaded={loaded} lines={2} isEmpty={({ rows }) => !rows.length}>
          {({ rows: [row], comparison }) => {
            const withChange = (field: "total_events" | "unique_users" | "unique_sessions") => (
              <>{field === "unique_users" ? <EventVisitors {...row!} /> : formatNumber(row![field])}{comparison && <RowChange field={field} compared={comparison.rows[0]} before={before} />}</>
            );
            return (
              <Facts facts={[
                [m.events, withChange("total_events")],
                [m.visitors, withChange("unique_users")],
                [m.visits, withChange("unique_sessions")],
                [t.first, formatInstant(row!.first_occurrence, timezone.value)],
                [t.last, formatInstant(row!.last_occurrence, timezone.value)],
              ]} />
            );
          }}
        </Async>
      </div>
    </Card>
  );
}

interface OfEvent {
  filters: Ask<"custom_events">["filters"];
}

function EventProperties({ name, filters }: OfEvent & { name: string }) {
  const kinds = useAnswer({ name: "custom_events_property_classification", filters });
  const money = useMoney();
  const values = useAnswer({ name: "custom_events_property_top_values", options: { limit: MOST_VALUES }, filters });
  return (
    <section class="part" aria-label={t.properties}>
      <Async loaded={money ? kinds : { ...kinds, value: null }} lines={6} isEmpty={({ rows }) => !rows.length} empty={t.noProperties}>
        {({ rows }) => (
          <div class="cards">
            {rows.map((property) => (
              <PropertyCard key={property.property_key} event={name} property={property} money={money ?? []}
                values={values.value?.rows.filter((value) => value.property_key === property.property_key) ?? []} />
            ))}
          </div>
        )}
      </Async>
    </section>
  );
}

function RecentEvents({ filters }: OfEvent) {
  const ask: Ask<"custom_events_recent"> = { name: "custom_events_recent", options: { limit: RECENT }, filters };
  const loaded = useAnswer(ask);
  return (
    <Card title={t.recent} ask={ask} file={RECENT_FILE} className="wide">
      <Async loaded={loaded} lines={8} isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => (
          <DataTable label={t.recent} rows={rows} columns={[
            {
              key: "time", label: texts.chart.bucket, className: "nowrap", render: ({ session_id: session, timestamp }) => {
                const text = formatInstant(timestamp, timezone.value, true);
                return session ? <a href={sessionAddress(session)} onClick={follow}>{text}</a> : text;
              },
            },
            { key: "path", extra: true, label: texts.filters.fields.path!, className: "long", render: (row) => row.path ?? "–" },
            { key: "properties", label: t.properties, render: (row) => <Properties text={row.properties} /> },
          ]} />
        )}
      </Async>
    </Card>
  );
}
