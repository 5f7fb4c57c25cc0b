// All rows of a breakdown: sorted, searched, page by page, with every number.
import type { Ask } from "../api/ask";
import { useComparedData } from "../api/compared";
import { useMetrics } from "../api/metrics";
import { isShared, timezone } from "../api/session";
import { useAnswer, withTotal } from "../api/use";
import { Card } from "../components/card";
import { changeColumn, changeFile } from "../components/change";
import { type Column, DataTable, Pages, parseSort } from "../components/data_table";
import { ImportedBars } from "../components/imported";
import { RowImage } from "../components/logo";
import { NoRows } from "../components/no_rows";
import type { AnswerField } from "../components/request_dialog";
import { revenueTerms, useRevenue } from "../components/revenue";
import { Search } from "../components/search";
import { Async, Empty } from "../components/states";
import { VisitorsLink } from "../components/visitors_button";
import { address, addressWith, follow, go, goOwn } from "../state/address";
import { type Breakdown, findBreakdown } from "../state/breakdowns";
import type { FileColumn } from "../state/csv";
import { DIRECT, hasFilter, toggleFilter } from "../state/filters";
import { countryName, formatInstant, formatMoney, formatNumber, formatPercent } from "../state/format";
import { texts } from "../texts";
import type { QueryType, Schemas } from "../types";

const ROWS = 50;
const t = texts.breakdowns;

export default function List() {
  const breakdown = findBreakdown(address.value.item);
  if (!breakdown) return <Empty text={texts.app.unknownView} />;
  return <BreakdownList key={breakdown.type} breakdown={breakdown} />;
}

function BreakdownList({ breakdown }: { breakdown: Breakdown }) {
  const { own } = address.value;
  const page = Math.max(1, Number(own.page) || 1);
  const sort = parseSort(own.sort) ?? { field: breakdown.value, direction: "desc" as const };
  const search = own.q ?? "";
  const ask: Ask<QueryType> = {
    name: breakdown.type,
    compared: true,
    options: { limit: ROWS, page, orderBy: [sort] },
    filters: search ? [{ field: breakdown.searched, operator: "contains", value: search } as Schemas["Filter"]] : [],
  };
  const loaded = useAnswer(ask);
  const before = useComparedData();
  const totals = useAnswer({ name: "summary_metrics" });
  const visitors = totals.value?.rows[0]?.unique_visitors;
  const revenue = useRevenueOf(breakdown);
  const file = visitors === undefined ? null : [...fileColumns(breakdown, visitors), ...revenue.file, ...changeFile([breakdown.value, breakdown.valueLabel], before)];
  return (
    <Card title={breakdown.label} ask={ask} definition={{ type: breakdown.type, rows: true }} file={file} fields={answerFields(breakdown)}
      remark={breakdown.columns.some(([, , kind]) => kind === "share") ? texts.request.shareOfAll : undefined} className="wide" actions={
      <a class="quiet-button" href={addressWith({ view: "overview" })} onClick={follow}>{t.back}</a>}>
      <Search value={search} />
      <Async loaded={withTotal(loaded, totals)} lines={12} isEmpty={({ rows }) => !rows.length} empty={search ? texts.states.emptySearch(search) : <NoRows breakdown={breakdown} />}>
        {({ rows, total, comparison }) => (
          <>
            <DataTable label={breakdown.label} columns={[...columnsOf(breakdown, visitors), ...revenue.columns, ...changeColumn<Row>([breakdown.value, breakdown.valueLabel], comparison?.rows, before)]} rows={rows as unknown as Row[]} sort={sort}
              onSort={({ field, direction }) => goOwn({ sort: `${field}:${direction}`, page: "" })} />
            <Pages page={page} total={total} size={ROWS} go={(to) => goOwn({ page: to > 1 ? String(to) : "" })} />
          </>
        )}
      </Async>
      <ImportedBars breakdown={breakdown} answer={loaded.value} limit={ROWS} />
    </Card>
  );
}

type Row = Record<string, unknown>;

/** `visitors` are all of the time range. */
function columnsOf(breakdown: Breakdown, visitors: number | undefined): Column<Row>[] {
  const { filters } = address.value;
  const { display = (name: string) => name } = breakdown;
  const name: Column<Row> = {
    key: breakdown.name,
    label: breakdown.label,
    sortable: true,
    render: (row) => {
      const text = display(row[breakdown.name] as string);
      const filter = breakdown.filter(row, isShared());
      const chosen = hasFilter(filters, filter);
      return (
        <button type="button" class="row-link" aria-pressed={chosen} title={(chosen ? t.unfilter : t.filterBy)(text)}
          onClick={() => go({ filters: toggleFilter(filters, filter) })}>
          <RowImage breakdown={breakdown} row={row} />{text}{row.country && row.country !== text ? <small>{` ${row.country}`}</small> : null}
        </button>
      );
    },
  };
  const numbers = breakdown.columns.map(([key, label, kind]): Column<Row> => ({
    key, label, number: true, sortable: true, extra: key !== breakdown.value,
    render: (row) => (["visitors", "unique_users"].includes(key) ? (
      <VisitorsLink filter={breakdown.filter(row, isShared())} name={display(row[breakdown.name] as string)}>{shown(row[key])}</VisitorsLink>
    ) : shown(kind === "share" ? visitors && (100 * Number(row.visitors)) / visitors : row[key], kind)),
  }));
  return [name, ...numbers];
}

/** Columns of the table and of the file with the revenue in each currency, where the website has money and an order has what is listed. */
function useRevenueOf({ type, searched, name }: Breakdown): { columns: Column<Row>[]; file: FileColumn[] } {
  const isOfOrders = searched.startsWith("visit.") || OF_ORDERS.includes(searched);
  const { money = [], currencies: all = [] } = useRevenue(isOfOrders) ?? {};
  const currencies = all.slice(0, MOST_CURRENCIES);
  // A source without a name is listed by its address.
  const dimensions = type === "traffic_sources" ? [searched, "visit.referrer"] : [searched];
  const metrics = currencies.flatMap((currency) => revenueTerms(money, ["revenue"], currency, currency));
  const { value } = useMetrics(currencies.length ? { metrics, dimensions, limit: MOST_GROUPS } : null);
  const revenueOf = (listed: unknown, currency: string) => value!
    .filter((each) => (dimensions.map((dimension) => each[dimension]).find((text) => text !== null) ?? DIRECT) === listed)
    .reduce((sum, each) => sum + Number(each[currency]), 0);
  return {
    columns: currencies.map((currency) => ({
      key: currency, label: texts.revenue.of(currency), number: true, extra: true,
      render: (row) => (value ? formatMoney(currency, revenueOf(row[name], currency)) : "…"),
    })),
    file: value ? currencies.map((currency) => ({ field: name, label: texts.revenue.of(currency), show: (listed) => String(revenueOf(listed, currency)) })) : [],
  };
}

/** Fields of the event of an order itself. */
const OF_ORDERS = ["country", "language", "timezone", "device_type", "browser_name", "os_name", "screen_resolution"];
const MOST_CURRENCIES = 3;
const MOST_GROUPS = 10_000;

/** The share of all visitors is in no field of the answer. */
const answerFields = ({ name, label, columns }: Breakdown): AnswerField[] => [
  { label, field: name },
  ...columns.filter(([, , kind]) => kind !== "share").map(([field, text]) => ({ label: text, field })),
];

/** Names, with the code beside those that have one, and the same numbers as the table. */
function fileColumns(breakdown: Breakdown, visitors: number): FileColumn[] {
  const { name, label, display, type } = breakdown;
  const inCountry = type === "region" || type === "city";
  return [
    { field: name, label, show: display },
    ...(display ? [{ field: name, label: texts.download.code(label) }] : []),
    ...(inCountry ? [{ field: "country", label: texts.filters.fields.country!, show: countryName }] : []),
    ...breakdown.columns.map(([field, label, kind]): FileColumn => {
      if (kind === "instant") return { field, label: texts.download.utc(label) };
      if (kind === "percent") return { field, label: texts.download.percent(label) };
      if (kind !== "share") return { field, label };
      return { field: "visitors", label: texts.download.percent(label), show: (value) => (visitors ? ((100 * Number(value)) / visitors).toFixed(2) : "") };
    }),
  ];
}

function shown(value: unknown, kind?: Breakdown["columns"][number][2]): string {
  if (value === null || value === undefined) return "–";
  if (kind === "instant") return formatInstant(value as string, timezone.value);
  return kind === "percent" || kind === "share" ? formatPercent(value as number, 2) : formatNumber(value as number);
}
