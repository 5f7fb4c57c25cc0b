// Bots and AI crawlers: how many when, each by name and purpose, and the pages that one or all of them read.
import type { Ask } from "../api/ask";
import { timezone } from "../api/session";
import { useAnswer } from "../api/use";
import { Card } from "../components/card";
import { type Column, DataTable, Pages, parseSort } from "../components/data_table";
import { countFormat } from "../components/series_chart";
import { Async, unlessFiltered } from "../components/states";
import { TimeSeries } from "../components/time_series";
import { address, addressWith, follow, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { shownValue } from "../state/filter_values";
import { condition } from "../state/filters";
import { formatInstant, formatNumber } from "../state/format";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Row } from "../types";

const ROWS = 50;
const t = moreTexts.bots;
const m = texts.metrics;
type Filters = NonNullable<Ask<"bots">["filters"]>;
type Named = Pick<Row<"bots">, "name" | "purpose">;

export default function Bots() {
  const reason = address.value.item;
  const filters = reason ? [condition("bot_reason", reason)] as Filters : [];
  return (
    <>
      {reason && <p class="crumbs"><a href={addressWith({ item: "", own: {} })} onClick={follow}>{t.back}</a> <span aria-hidden="true">›</span> <strong>{shownValue("bot_reason", reason)}</strong></p>}
      <TimeSeries title={t.series} unit={m.events} name="bots_time_series" field="events" filters={filters} format={countFormat} />
      {!reason && <BotTable />}
      <PageTable filters={filters} isOfOne={Boolean(reason)} />
    </>
  );
}

const purposeText = (purpose: string | null): string => (purpose ? shownValue("purpose", purpose) : "–");

/** What `bot_reason` says of a bot. */
const reasonOf = ({ name, purpose }: Named): string => (name ? `${purpose}: ${name}` : purpose);

function BotLink({ row }: { row: Named }) {
  const reason = reasonOf(row);
  const text = row.name || purposeText(row.purpose);
  return reason ? <a href={addressWith({ item: reason, own: {} })} onClick={follow}>{text}</a> : <>{text}</>;
}

const instant = (text: string | null): string => (text ? formatInstant(text, timezone.value) : "–");

const COLUMNS: Column<Row<"bots">>[] = [
  { key: "name", label: t.bot, sortable: true, className: "long", render: (row) => <BotLink row={row} /> },
  { key: "purpose", label: t.purpose, sortable: true, render: (row) => purposeText(row.purpose) },
  { key: "events", label: m.events, number: true, sortable: true, render: (row) => formatNumber(row.events) },
  { key: "pages", extra: true, label: t.differentPages, number: true, sortable: true, render: (row) => formatNumber(row.pages) },
  { key: "first_seen", extra: "wide", label: t.first, sortable: true, className: "nowrap", render: (row) => instant(row.first_seen) },
  { key: "last_seen", extra: true, label: t.last, sortable: true, className: "nowrap", render: (row) => instant(row.last_seen) },
];

const FILE: FileColumn[] = [
  { field: "name", label: t.bot },
  { field: "purpose", label: t.purpose, show: purposeText },
  { field: "events", label: m.events },
  { field: "pageviews", label: m.pageviews },
  { field: "pages", label: t.differentPages },
  { field: "first_seen", label: texts.download.utc(t.first) },
  { field: "last_seen", label: texts.download.utc(t.last) },
];

function BotTable() {
  const { own } = address.value;
  const page = Math.max(1, Number(own.page) || 1);
  const sort = parseSort(own.sort) ?? { field: "events", direction: "desc" as const };
  const ask: Ask<"bots"> = { name: "bots", options: { limit: ROWS, page, orderBy: [sort] } };
  const loaded = useAnswer(ask);
  return (
    <Card title={t.title} ask={ask} file={FILE} className="wide">
      <Async loaded={loaded} lines={8} isEmpty={({ rows }) => !rows.length} empty={unlessFiltered(t.none)}>
        {({ rows, total }) => (
          <>
            <DataTable label={t.title} columns={COLUMNS} rows={rows} rowKey={reasonOf} sort={sort}
              onSort={({ field, direction }) => goOwn({ sort: `${field}:${direction}`, page: "" })} />
            <Pages page={page} total={total} size={ROWS} go={(to) => goOwn({ page: to > 1 ? String(to) : "" })} />
          </>
        )}
      </Async>
    </Card>
  );
}

const PAGE_FILE: FileColumn[] = [
  { field: "path", label: t.page },
  { field: "name", label: t.bot },
  { field: "purpose", label: t.purpose, show: purposeText },
  { field: "events", label: m.events },
  { field: "last_seen", label: texts.download.utc(t.last) },
];

function PageTable({ filters, isOfOne }: { filters: Filters; isOfOne: boolean }) {
  const ask: Ask<"bot_pages"> = { name: "bot_pages", options: { limit: ROWS }, filters };
  const loaded = useAnswer(ask);
  const columns: Column<Row<"bot_pages">>[] = [
    { key: "path", label: t.page, className: "long", render: (row) => row.path },
    ...(isOfOne ? [] : [{ key: "name", label: t.bot, render: (row) => <BotLink row={row} /> } satisfies Column<Row<"bot_pages">>]),
    { key: "events", label: m.events, number: true, render: (row) => formatNumber(row.events) },
    { key: "last_seen", extra: true, label: t.last, className: "nowrap", render: (row) => instant(row.last_seen) },
  ];
  return (
    <Card title={t.pages} ask={ask} file={PAGE_FILE} className="wide">
      <Async loaded={loaded} lines={8} isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => <DataTable label={t.pages} columns={columns} rows={rows} />}
      </Async>
    </Card>
  );
}
