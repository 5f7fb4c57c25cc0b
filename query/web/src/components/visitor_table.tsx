// Visitors as rows, sorted and page by page: all of them, or those behind a number.
import type { Answer, Ask } from "../api/ask";
import { timezone } from "../api/session";
import type { Loaded } from "../api/use";
import { address, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { countryName, formatInstant, formatNumber } from "../state/format";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Row, Schemas } from "../types";
import { type Column, DataTable, Pages, parseSort } from "./data_table";
import { Country, Device, Source } from "./seen_with";
import { Async } from "./states";
import { VisitorLink, visitorName } from "./visitor_name";

const ROWS = 25;
const t = moreTexts.visitors;
const m = texts.metrics;
type Visitor = Row<"profile_list">;
type Selected = { name: "profile_list" } | { name: "visitors"; of: Record<string, unknown> };

/** The query for the page and the order of the address. */
export function visitorsAsk({ name, ...options }: Selected, filters?: Schemas["Filter"][]): Ask<"profile_list" | "visitors"> {
  const { own } = address.value;
  return { name, options: { ...options, limit: ROWS, page: pageOf(own), orderBy: [sortOf(own)] }, filters };
}

const pageOf = (own: Record<string, string>): number => Math.max(1, Number(own.page) || 1);
const sortOf = (own: Record<string, string>) => parseSort(own.sort) ?? { field: "last_visit", direction: "desc" as const };

const COLUMNS: Column<Visitor>[] = [
  { key: "visitor_id", label: t.visitor, className: "whole", render: (row) => <VisitorLink id={row.visitor_id} name={visitorName(row.traits, row.profile_id)} /> },
  { key: "last_visit", label: m.lastSeen, sortable: true, className: "when", render: (row) => formatInstant(row.last_visit, timezone.value) },
  { key: "referrer", extra: true, label: t.source, sortable: true, className: "nowrap", render: (row) => <Source name={row.referrer} /> },
  { key: "session_count", label: m.visits, number: true, sortable: true, render: (row) => formatNumber(row.session_count) },
  { key: "page_views", extra: true, label: m.pageviews, number: true, sortable: true, render: (row) => formatNumber(row.page_views) },
  { key: "custom_event_count", extra: "wide", label: m.events, number: true, sortable: true, render: (row) => formatNumber(row.custom_event_count) },
  { key: "country", extra: true, label: t.country, sortable: true, className: "nowrap", render: (row) => <Country code={row.country} /> },
  { key: "device", extra: "wide", label: t.device, className: "nowrap", render: (row) => <Device device={row.device_type} browser={row.browser_name} system={row.os_name} short /> },
  { key: "first_visit", extra: "wide", label: t.firstSeen, sortable: true, className: "when", render: (row) => formatInstant(row.first_visit, timezone.value) },
];

/** The columns of a file of visitors. */
export const VISITOR_FILE: FileColumn[] = [
  { field: "visitor_id", label: t.visitor },
  { field: "profile_id", label: t.profile },
  { field: "last_visit", label: texts.download.utc(m.lastSeen) },
  { field: "first_visit", label: texts.download.utc(t.firstSeen) },
  { field: "session_count", label: m.visits },
  { field: "page_views", label: m.pageviews },
  { field: "custom_event_count", label: m.events },
  { field: "referrer", label: t.source },
  { field: "country", label: t.country, show: countryName },
  { field: "region", label: texts.filters.fields.region! },
  { field: "device_type", label: t.device },
  { field: "browser_name", label: texts.filters.fields.browser_name! },
  { field: "os_name", label: texts.filters.fields.os_name! },
  { field: "traits", label: t.traits },
];

export function VisitorTable({ loaded, label, empty }: { loaded: Loaded<Answer<"profile_list" | "visitors">>; label: string; empty?: string }) {
  const { own } = address.value;
  return (
    <Async loaded={loaded} lines={14} isEmpty={({ rows }) => !rows.length} empty={empty}>
      {({ rows, total }) => (
        <>
          <DataTable label={label} className="many" columns={COLUMNS} rows={rows as Visitor[]} rowKey={(row) => row.visitor_id} sort={sortOf(own)}
            onSort={({ field, direction }) => goOwn({ sort: `${field}:${direction}`, page: "" })} />
          <Pages page={pageOf(own)} total={total} size={ROWS} go={(to) => goOwn({ page: to > 1 ? String(to) : "" })} />
        </>
      )}
    </Async>
  );
}
