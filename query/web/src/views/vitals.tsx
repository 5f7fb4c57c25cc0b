// Web vitals: the 75th percentile of each against its bounds, over time, by page and by who measured it.
import type { Ask } from "../api/ask";
import { useComparedData } from "../api/compared";
import { useMetrics } from "../api/metrics";
import { isShared } from "../api/session";
import { useAnswer } from "../api/use";
import { Card, type Tab } from "../components/card";
import { Change } from "../components/change";
import { type Column, DataTable, Pages, parseSort } from "../components/data_table";
import { Async, unlessFiltered } from "../components/states";
import { TimeSeries } from "../components/time_series";
import { address, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { equals } from "../state/filters";
import { countryName, formatNumber, formatPercent } from "../state/format";
import { boundsText, formatVital, type Rating, ratingOf, RATINGS, type Vital, VITALS } from "../state/vitals";
import { texts } from "../texts";
import type { QueryType, Row } from "../types";

const ROWS = 20;
const t = texts.vitals;
/** Vitals whose 75th percentile has a value in every bucket of a series. */
const WITH_BUCKETS: Vital[] = ["LCP", "INP", "CLS"];
type Group = Row<"web_vitals_by_page">;

const GROUPS: { id: QueryType; label: string; display?: (name: string) => string }[] = [
  { id: "web_vitals_by_device", label: texts.breakdowns.deviceTypes },
  { id: "web_vitals_by_browser", label: texts.breakdowns.browsers },
  { id: "web_vitals_by_os", label: texts.breakdowns.systems },
  { id: "web_vitals_by_country", label: texts.breakdowns.countries, display: countryName },
];

export default function Vitals() {
  const { own } = address.value;
  const vital = VITALS.find((each) => each === own.vital) ?? "LCP";
  const format = (value: number) => formatVital(vital, value);
  const title = t.series(t.names[vital]);
  return (
    <>
      <Totals chosen={vital} />
      {WITH_BUCKETS.includes(vital)
        ? <TimeSeries key={vital} title={title} unit={vital} name="web_vitals_time_series" field={`p75_${vital.toLowerCase()}`} format={format} />
        : <TimeSeries key={vital} title={title} unit={vital} name="vitals_time_series" field="p75" format={format}
          only={["metric_name", vital]} filters={[equals("metric_name", vital)]} />}
      <GroupTable title={t.byPage} label={texts.filters.fields.path!} type="web_vitals_by_page" keys={["sort", "page"]} />
      <Groups />
    </>
  );
}

function Totals({ chosen }: { chosen: Vital }) {
  const ask: Ask<"vitals_overview"> = { name: "vitals_overview", compared: true };
  const loaded = useAnswer(ask);
  const before = useComparedData();
  const shares = useMetrics(isShared() ? null : {
    metrics: VITALS.flatMap((vital) => RATINGS.map((rating) => `${rating}_${vital.toLowerCase()}`)),
  });
  const share = shares.value?.[0];
  return (
    <div class="vitals-frame">
      <Async loaded={loaded} lines={5} isEmpty={({ rows }) => !rows.length} empty={unlessFiltered(t.none)}>
        {({ rows, comparison }) => (
          <section class="totals vitals" aria-label={t.title}>
            {VITALS.map((vital) => {
              const at = rows.findIndex((each) => each.metric_name === vital);
              const row = rows[at];
              const compared = comparison?.rows[at];
              return (
                <div key={vital} class={`total ${vital === chosen ? "chosen" : ""}`}>
                  <button type="button" aria-pressed={vital === chosen} title={t.bounds(...boundsText(vital))}
                    onClick={() => goOwn({ vital: vital === "LCP" ? "" : vital })}>
                    <span class="total-label">{`${vital} · ${t.names[vital]}`}</span>
                    <span class="total-value"><RatedValue vital={vital} value={row?.p75} /></span>
                    {row && <span class="quiet">{t.samples(formatNumber(row.samples))}</span>}
                    {compared && <Change percent={compared.changePercent.p75} before={before} lessIsBetter hint={compared.previous?.p75 === 0 ? t.zeroBefore : t.littleBefore} />}
                  </button>
                  {row && share && (
                    <RatingBar vital={vital} shares={{
                      good: Number(share[`good_${vital.toLowerCase()}`]),
                      needs_improvement: Number(share[`needs_improvement_${vital.toLowerCase()}`]),
                      poor: Number(share[`poor_${vital.toLowerCase()}`]),
                    }} />
                  )}
                </div>
              );
            })}
          </section>
        )}
      </Async>
    </div>
  );
}

const columnsOf = (label: string, display: (name: string) => string): Column<Group>[] => [
  { key: "name", label, className: "long", sortable: true, render: (row) => display(row.name ?? "–") },
  { key: "p75_lcp", label: "LCP", number: true, sortable: true, render: (row) => <RatedValue vital="LCP" value={row.p75_lcp} /> },
  { key: "p75_inp", label: "INP", number: true, sortable: true, render: (row) => <RatedValue vital="INP" value={row.p75_inp} /> },
  { key: "p75_cls", extra: true, label: "CLS", number: true, sortable: true, render: (row) => <RatedValue vital="CLS" value={row.p75_cls} /> },
  { key: "measurements", extra: "always", label: t.measurements, number: true, sortable: true, render: (row) => formatNumber(row.measurements) },
  { key: "visitors", extra: true, label: texts.metrics.visitors, number: true, sortable: true, render: (row) => formatNumber(row.visitors) },
];

const fileColumns = (label: string, show?: FileColumn["show"]): FileColumn[] => [
  { field: "name", label, show },
  ...WITH_BUCKETS.map((vital) => ({ field: `p75_${vital.toLowerCase()}`, label: t.series(vital) })),
  { field: "measurements", label: t.measurements },
  { field: "visitors", label: texts.metrics.visitors },
];

/** Groups with their vitals, sorted and paged by these members of the address. */
function GroupTable({ title, label, type, display = (name) => name, keys: [sortKey, pageKey], ...tabs }: {
  title: string;
  /** Of the column with the names. */
  label: string;
  type: QueryType;
  display?: (name: string) => string;
  keys: [sort: string, page: string];
  tabs?: Tab[];
  tab?: string;
  onTab?: (id: string) => void;
}) {
  const { own } = address.value;
  const page = Math.max(1, Number(own[pageKey]) || 1);
  const sort = parseSort(own[sortKey]) ?? { field: "measurements", direction: "desc" as const };
  const ask: Ask<QueryType> = { name: type, options: { limit: ROWS, page, orderBy: [sort] } };
  const loaded = useAnswer(ask);
  return (
    <Card title={title} ask={ask} file={fileColumns(label, display)} className="wide" {...tabs}>
      <Async loaded={loaded} lines={8} isEmpty={({ rows }) => !rows.length}>
        {({ rows, total }) => (
          <>
            <DataTable label={title} columns={columnsOf(label, display)} rows={rows as unknown as Group[]} sort={sort}
              onSort={({ field, direction }) => goOwn({ [sortKey]: `${field}:${direction}`, [pageKey]: "" })} />
            <Pages page={page} pages={Math.ceil(total / ROWS)} go={(to) => goOwn({ [pageKey]: to > 1 ? String(to) : "" })} />
          </>
        )}
      </Async>
    </Card>
  );
}

function Groups() {
  const group = GROUPS.find(({ id }) => id === address.value.own.group) ?? GROUPS[0]!;
  return (
    <GroupTable title={t.byGroup} label={group.label} type={group.id} display={group.display} keys={["groupSort", "groupPage"]}
      tabs={GROUPS} tab={group.id} onTab={(id) => goOwn({ group: id === GROUPS[0]!.id ? "" : id, groupPage: "" }, { replace: true })} />
  );
}

/** A value with its rating, in color and in words. */
function RatedValue({ vital, value }: { vital: Vital; value: number | null | undefined }) {
  if (value === null || value === undefined) return <>–</>;
  const rating = ratingOf(vital, value);
  return <span class={`rated ${rating}`}>{formatVital(vital, value)} <small>{t.ratings[rating]}</small></span>;
}

/** Shares of the ratings as one bar. */
function RatingBar({ vital, shares }: { vital: string; shares: Record<Rating, number> }) {
  const text = RATINGS.map((rating) => `${t.ratings[rating]} ${formatPercent(shares[rating])}`).join(", ");
  return (
    <div class="ratings">
      <div class="rating-bar" role="img" aria-label={`${vital}: ${text}`}>
        {RATINGS.map((rating) => <span key={rating} class={rating} style={{ width: `${shares[rating]}%` }} title={t.ratings[rating]} />)}
      </div>
      <span class="quiet">{t.goodShare(formatPercent(shares.good))}</span>
    </div>
  );
}
