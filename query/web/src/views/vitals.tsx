// Web vitals: the 75th percentile of each against its bounds, over time, by page and by who measured it.
import type { Answer, Ask } from "../api/ask";
import { type ComparedData, useComparedData } from "../api/compared";
import { useMetrics } from "../api/metrics";
import { isShared } from "../api/session";
import { useAnswer, withTotal } from "../api/use";
import { Card, type Tab } from "../components/card";
import { Change } from "../components/change";
import { type Column, DataTable, Pages, parseSort } from "../components/data_table";
import { Icon } from "../components/icon";
import { Sparkline } from "../components/sparkline";
import { Async, unlessFiltered } from "../components/states";
import { TimeSeries } from "../components/time_series";
import { address, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { shownValue } from "../state/filter_values";
import { equals } from "../state/filters";
import { countryName, formatNumber, formatPercent, shortDay } from "../state/format";
import { boundsOf, boundsText, formatVital, type Rating, ratingOf, RATINGS, type Vital, VITALS } from "../state/vitals";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { QueryType, Row, Schemas } from "../types";

const ROWS = 20;
const t = moreTexts.vitals;
/** Vitals whose 75th percentile has a value in every bucket of a series. */
const WITH_BUCKETS: Vital[] = ["LCP", "INP", "CLS"];
type Group = Row<"web_vitals_by_page">;

/** With fewer measurements a percentile says little. */
const LEAST_SAMPLES = 50;
/** From this change on, in percent, a vital got better or worse. */
const LEAST_CHANGE = 10;
const MOST_PAGES = 1_000;

const GROUPS: { id: QueryType; label: string; display?: (name: string) => string }[] = [
  { id: "web_vitals_by_page", label: texts.breakdowns.pages },
  { id: "web_vitals_by_device", label: texts.breakdowns.deviceTypes, display: (name) => shownValue("device_type", name) },
  { id: "web_vitals_by_browser", label: texts.breakdowns.browsers },
  { id: "web_vitals_by_os", label: texts.breakdowns.systems },
  { id: "web_vitals_by_country", label: texts.breakdowns.countries, display: countryName },
];

export default function Vitals() {
  const { own } = address.value;
  const vital = VITALS.find((each) => each === own.vital) ?? "LCP";
  const format = (value: number) => formatVital(vital, value);
  const title = t.series(t.names[vital]);
  const [good, poor] = boundsOf(vital);
  const bounds = [[good, t.goodUpTo(format(good))], [poor, t.poorAbove(format(poor))]] satisfies [number, string][];
  return (
    <>
      <Advice />
      <Totals chosen={vital} />
      {WITH_BUCKETS.includes(vital)
        ? <TimeSeries key={vital} title={title} unit={vital} name="web_vitals_time_series" field={`p75_${vital.toLowerCase()}`} format={format} bounds={bounds} />
        : <TimeSeries key={vital} title={title} unit={vital} name="vitals_time_series" field="p75" format={format} bounds={bounds}
          only={["metric_name", vital]} filters={[equals("metric_name", vital)]} />}
      <PageChanges />
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
    <div class="card vitals-frame">
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
                    <span class="total-value"><RatedValue vital={vital} value={row?.p75} samples={row?.samples} /></span>
                    {compared && compared.changePercent.p75 !== null && <Change percent={compared.changePercent.p75} before={before} lessIsBetter />}
                  </button>
                  {row && !share && !isShared() && <div class="ratings" />}
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

type Measured = Row<"vitals_by_page">;

/** A vital of a page with what became of it. */
interface PageVital {
  row: Measured & { metric_name: Vital };
  rating: Rating;
  percent: number | null;
  before: number | null;
  isSure: boolean;
}

const PAGE_VITALS: Ask<"vitals_by_page"> = { name: "vitals_by_page", compared: true, options: { limit: MOST_PAGES } };

function pageVitals({ rows, comparison }: Answer<"vitals_by_page">, before: ComparedData | null): PageVital[] {
  const all = rows.map((row, i): PageVital | null => {
    const vital = VITALS.find((each) => each === row.metric_name);
    if (!vital || row.p75 === null) return null;
    const compared = before === "enough" ? comparison?.rows[i] : undefined;
    const samplesBefore = Number(compared?.previous?.samples ?? 0);
    return {
      row: { ...row, metric_name: vital },
      rating: ratingOf(vital, row.p75),
      percent: samplesBefore ? (compared?.changePercent.p75 ?? null) : null,
      before: (compared?.previous?.p75 as number | null | undefined) ?? null,
      isSure: row.samples >= LEAST_SAMPLES && (compared === undefined || samplesBefore === 0 || samplesBefore >= LEAST_SAMPLES),
    };
  });
  return all.filter((each) => each !== null).toSorted((a, b) => urgency(b) - urgency(a) || b.row.samples - a.row.samples);
}

const isWorse = ({ percent }: PageVital): boolean => percent !== null && percent >= LEAST_CHANGE;

/** Sure ones first; of these what got worse and is not good, then the rating, then the change. */
const urgency = (each: PageVital): number =>
  (each.isSure ? 10_000 : 0) + (isWorse(each) && each.rating !== "good" ? 5_000 : 0) + 1_000 * RATINGS.indexOf(each.rating) + Math.min(999, Math.max(0, each.percent ?? 0));

/** What to look at first, as a sentence: of the pages, else of a class of device. */
function Advice() {
  const before = useComparedData();
  const pages = useAnswer(PAGE_VITALS);
  const devices = useAnswer({ name: "web_vitals_by_device" });
  return (
    <div class="advice-frame">
      <Async loaded={withTotal(pages, devices)} lines={1}>
        {(answer) => {
          if (!answer.rows.length) return null;
          const sure = pageVitals(answer, before).filter(({ isSure }) => isSure);
          const first = sure.find((each) => isWorse(each) && each.rating !== "good") ?? sure.find(({ rating }) => rating !== "good") ?? sure.find(isWorse);
          const device = first ? null : slowDevice(devices.value?.rows ?? []);
          const icon = first ? "triangle-alert" : device ? "smartphone" : sure.length ? "circle-check" : "info";
          return (
            <p class={`advice ${first ? "worse" : device || !sure.length ? "" : "better"}`}>
              <Icon name={icon} />
              <span>{first ? t.advice.page(...spoken(first), isWorse(first) ? formatPercent(first.percent!, 0) : null)
                : device ? t.advice.device(...device) : sure.length ? t.advice.good : t.advice.few(formatNumber(LEAST_SAMPLES))}</span>
            </p>
          );
        }}
      </Async>
    </div>
  );
}

const spoken = ({ row, rating }: PageVital): [vital: string, page: string, value: string, rating: string] =>
  [`${row.metric_name} (${t.names[row.metric_name]})`, row.page, formatVital(row.metric_name, row.p75!), t.ratings[rating]];

/** The class of device with a vital that is not good, the one with most measurements first. */
function slowDevice(rows: Group[]): [vital: string, device: string, value: string, rating: string] | null {
  for (const row of rows.toSorted((a, b) => b.measurements - a.measurements)) {
    for (const vital of WITH_BUCKETS) {
      const value = row[`p75_${vital.toLowerCase()}` as "p75_lcp"];
      if (value === null || row.measurements < LEAST_SAMPLES || ratingOf(vital, value) === "good") continue;
      return [`${vital} (${t.names[vital]})`, shownValue("device_type", row.name ?? "–"), formatVital(vital, value), t.ratings[ratingOf(vital, value)]];
    }
  }
  return null;
}

/** The vitals of pages that are not good or got worse, what matters most first. */
function PageChanges() {
  const before = useComparedData();
  const { own } = address.value;
  const loaded = useAnswer(PAGE_VITALS);
  const page = Math.max(1, Number(own.changes) || 1);
  const vitals = loaded.value ? pageVitals(loaded.value, before).filter((each) => each.rating !== "good" || (each.isSure && isWorse(each))) : [];
  const shown = vitals.slice((page - 1) * CHANGES, page * CHANGES);
  const { series, since } = usePageSeries(shown);
  const columns: Column<PageVital>[] = [
    { key: "page", label: texts.filters.fields.path!, className: "long", render: ({ row }) => row.page },
    { key: "vital", label: t.vital, className: "nowrap", render: ({ row }) => <span title={t.names[row.metric_name]}>{row.metric_name}</span> },
    { key: "p75", label: t.p75, number: true, render: ({ row }) => <RatedValue vital={row.metric_name} value={row.p75} /> },
    ...(before === "enough" && shown.some(({ percent }) => percent !== null) ? [
      {
        key: "change", label: texts.breakdowns.change, number: true, render: ({ percent, before: value, row }) => (
          <>
            <Change percent={percent} before={before} lessIsBetter hint={t.littleBefore} />
            {value !== null && <small class="quiet was"> {texts.chart.was(formatVital(row.metric_name, value))}</small>}
          </>
        ),
      } satisfies Column<PageVital>,
      ...(shown.some((each) => isWorse(each) && since.has(keyOf(each.row))) ? [
        { key: "since", extra: "wide", label: t.since, className: "nowrap", render: (each) => (isWorse(each) && since.get(keyOf(each.row))) || "" } satisfies Column<PageVital>,
      ] : []),
    ] : []),
    ...(series.size ? [{
      key: "trend", extra: true, label: t.trend, className: "trend",
      render: ({ row }) => series.has(keyOf(row)) && <Sparkline values={series.get(keyOf(row))!} label={`${row.metric_name}, ${row.page}`} />,
    } satisfies Column<PageVital>] : []),
    {
      key: "samples", extra: true, label: t.samplesColumn, number: true,
      render: ({ row, isSure }) => <>{formatNumber(row.samples)}{!isSure && <small class="unsure" title={t.unsureHint(formatNumber(LEAST_SAMPLES))}> {t.unsure}</small>}</>,
    },
  ];
  return (
    <Card title={t.changes} ask={PAGE_VITALS} className="wide" file={CHANGES_FILE}>
      <Async loaded={loaded} lines={8} isEmpty={() => !vitals.length} empty={loaded.value?.rows.length ? t.advice.good : undefined}>
        {() => (
          <>
            <DataTable label={t.changes} columns={columns} rows={shown} rowKey={({ row }) => keyOf(row)} />
            <Pages page={page} total={vitals.length} size={CHANGES} go={(to) => goOwn({ changes: to > 1 ? String(to) : "" })} />
          </>
        )}
      </Async>
    </Card>
  );
}

const CHANGES = 10;
const CHANGES_FILE: FileColumn[] = [
  { field: "page", label: texts.filters.fields.path! },
  { field: "metric_name", label: t.vital },
  { field: "p75", label: t.p75 },
  { field: "samples", label: t.samplesColumn },
];
const keyOf = ({ page, metric_name: vital }: Pick<Measured, "page" | "metric_name">): string => `${vital} ${page}`;

/** The percentile of each day of some pages, and the first day from which on it was above that of the time before. */
function usePageSeries(shown: PageVital[]) {
  const loaded = useMetrics(shown.length && !isShared() ? {
    metrics: VITALS.map((vital) => `p75_${vital.toLowerCase()}`), dimensions: ["path", "time:day"], limit: 10_000,
    filters: [{ field: "path", operator: "in", value: [...new Set(shown.map(({ row }) => row.page))] }] as Schemas["Filter"][],
  } : null);
  const days = [...new Set((loaded.value ?? []).map((row) => String(row["time:day"])))].toSorted();
  const series = new Map<string, (number | null)[]>();
  const since = new Map<string, string>();
  for (const { row, before } of days.length > 1 ? shown : []) {
    const field = `p75_${row.metric_name.toLowerCase()}`;
    const byDay = new Map((loaded.value ?? []).filter((each) => each.path === row.page).map((each) => [String(each["time:day"]), each[field] as number | null]));
    const values = days.map((day) => byDay.get(day) ?? null);
    series.set(keyOf(row), values);
    const below = values.findLastIndex((value) => value !== null && value <= (before ?? Infinity));
    const first = days[below + 1];
    if (before !== null && first) since.set(keyOf(row), shortDay(first));
  }
  return { series, since };
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
            <Pages page={page} total={total} size={ROWS} go={(to) => goOwn({ [pageKey]: to > 1 ? String(to) : "" })} />
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
function RatedValue({ vital, value, samples }: { vital: Vital; value: number | null | undefined; samples?: number }) {
  if (value === null || value === undefined) return <>–</>;
  const rating = ratingOf(vital, value);
  return <span class={`rated ${rating}`}>{formatVital(vital, value)} <small>{t.ratings[rating]}{samples !== undefined && ` · ${t.samples(samples, formatNumber(samples))}`}</small></span>;
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
