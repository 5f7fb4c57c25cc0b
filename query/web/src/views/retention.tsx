// Retention: visitors by when they came first in the time range, and how many of them came again later.
import type { Ask } from "../api/ask";
import { isShared, timezone } from "../api/session";
import { useAnswer } from "../api/use";
import { Card } from "../components/card";
import { ResultWarnings } from "../components/result_warnings";
import { Async } from "../components/states";
import { VISITOR_FILE, visitorsAsk, VisitorTable } from "../components/visitor_table";
import { VisitorsButton } from "../components/visitors_button";
import { address, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { formatBucket, formatDays, formatMonth, formatNumber, formatPercent } from "../state/format";
import { bucketDays, countDays, daysOf } from "../state/period";
import { texts } from "../texts";
import type { Row } from "../types";

type Cell = Row<"retention">;
type Width = keyof typeof GRANULARITY;

const GRANULARITY = { day: "daily", week: "weekly", month: "monthly" };
/** Days of the time range from which a width is the one shown first. */
const FROM_DAYS: [Width, number][] = [["month", 120], ["week", 15], ["day", 0]];
/** The API counts at most 100 cohorts. */
const MOST_DAYS: Record<Width, number> = { day: 100, week: 690, month: 3000 };
const SHADES = 5;
const MOST_ROWS = 10_000;
const t = texts.retention;
/** A cohort is named by its first day within the time range, as on the page. */
const fileOf = (width: Width): FileColumn[] => [
  { field: "date", label: t.cohort, show: (date) => cohortDays(date, width).start },
  { field: "period", label: t.later },
  { field: "visitors", label: texts.metrics.visitors },
  { field: "returned", label: t.returned },
  { field: "rate", label: texts.download.percent(t.returned) },
  { field: "complete", label: t.over },
];

export default function Retention() {
  const { own, period } = address.value;
  const days = countDays(daysOf(period, timezone.value));
  const widths = (Object.keys(GRANULARITY) as Width[]).filter((each) => days <= MOST_DAYS[each]);
  const width = widths.find((each) => each === own.width) ?? FROM_DAYS.find(([, least]) => days >= least)![0];
  const ask: Ask<"retention"> = { name: "retention", options: { period: width, limit: MOST_ROWS } };
  const loaded = useAnswer(ask);
  return (
    <>
      <Card title={t.title} ask={ask} file={fileOf(width)} className="wide" tabs={widths.map((id) => ({ id, label: t.widths[id] }))} tab={width}
        onTab={(id) => goOwn({ width: id, cohort: "", after: "", page: "" })}>
        <Async loaded={loaded} lines={8} isEmpty={({ rows }) => !rows.some((row) => row.visitors)}>
          {({ rows, warnings }) => (
            <>
              <Grid rows={rows} width={width} />
              <p class="quiet">{t.note}{!isShared() && ` ${t.click}`}{address.value.filters.length > 0 && ` ${t.filtered}`}</p>
              <ResultWarnings warnings={warnings} />
            </>
          )}
        </Async>
      </Card>
      {own.cohort && !isShared() && <CellVisitors width={width} />}
    </>
  );
}

/** The days of a cohort within the time range: no visitor of a day before it is counted. */
function cohortDays(date: string, width: Width): { start: string; end: string } {
  const range = daysOf(address.value.period, timezone.value);
  const { start, end } = bucketDays(date, GRANULARITY[width]);
  return { start: start < range.start ? range.start : start, end: end > range.end ? range.end : end };
}

/** The same as words; a whole month by its name. */
function cohortText(date: string, width: Width): string {
  const days = cohortDays(date, width);
  return width === "month" && days.start === bucketDays(date, GRANULARITY[width]).start ? formatBucket(date, "monthly") : formatDays(days);
}

/** The same without the year, for a phone. */
const shortCohort = (date: string, width: Width): string =>
  (width === "month" ? formatMonth(date) : formatDays(cohortDays(date, width), false));

/** From the first cohort with visitors on. */
function cohortsOf(rows: Cell[]): [date: string, cells: Cell[]][] {
  const cohorts = new Map<string, Cell[]>();
  for (const row of rows) cohorts.set(row.date, [...(cohorts.get(row.date) ?? []), row]);
  const all = [...cohorts];
  return all.slice(all.findIndex(([, [first]]) => first!.visitors > 0));
}

function Grid({ rows, width }: { rows: Cell[]; width: Width }) {
  const cohorts = cohortsOf(rows);
  const most = Math.max(...rows.map((cell) => (cell.period ? cell.rate ?? 0 : 0)));
  const last = Math.max(...cohorts.flatMap(([, cells]) => cells.map((cell) => cell.period)));
  const periods = Array.from({ length: last }, (_, i) => i + 1);
  return (
    <div class="table-frame" tabIndex={0} role="region" aria-label={t.title}>
      <table class="retention">
        <thead>
          <tr>
            <th scope="col">{t.cohort}</th>
            <th scope="col" class="number">{texts.metrics.visitors}</th>
            {periods.map((each) => <th key={each} scope="col" class="number">{t.after[width](each)}</th>)}
          </tr>
        </thead>
        <tbody>
          {cohorts.map(([date, cells]) => (
            <tr key={date}>
              <th scope="row"><span class="whole">{cohortText(date, width)}</span><span class="short" aria-hidden="true">{shortCohort(date, width)}</span></th>
              <td class="number"><CellButton cell={cells[0]!} text={formatNumber(cells[0]!.visitors)} width={width} /></td>
              {periods.map((each) => <GridCell key={each} cell={cells.find((cell) => cell.period === each)} width={width} most={most} />)}
            </tr>
          ))}
        </tbody>
        <tfoot><Means rows={rows} periods={periods} /></tfoot>
      </table>
    </div>
  );
}

/** The largest share has the darkest color. */
const shadeOf = (rate: number, most: number): number => (rate > 0 ? Math.ceil((rate / most) * SHADES) : 0);

function GridCell({ cell, width, most }: { cell: Cell | undefined; width: Width; most: number }) {
  if (!cell?.visitors || cell.rate === null) return <td />;
  const nothingYet = !cell.complete && !cell.returned;
  return (
    <td class={`number shade-${shadeOf(cell.rate, most)} ${cell.complete ? "" : "incomplete"}`}>
      <CellButton cell={cell} text={nothingYet ? "–" : `${formatPercent(cell.rate)}${cell.complete ? "" : "*"}`} width={width} />
    </td>
  );
}

function CellButton({ cell, text, width }: { cell: Cell; text: string; width: Width }) {
  const { own } = address.value;
  const { date, period, returned, visitors, complete } = cell;
  const result = t.cell(cohortText(date, width), t.after[width](period), formatNumber(returned), formatNumber(visitors));
  const words = complete || !period ? result : `${result}; ${returned ? texts.chart.partial : t.nothingYet}`;
  return (
    <VisitorsButton pressed={own.cohort === date && own.after === String(period)} title={words} label={words}
      open={() => goOwn({ cohort: date, after: String(period), outcome: "", page: "", sort: "" })}>{text}</VisitorsButton>
  );
}

/** Of all cohorts whose period is over, the share of their visitors that came again. */
function Means({ rows, periods }: { rows: Cell[]; periods: number[] }) {
  const sums = (period: number) => {
    const over = rows.filter((row) => row.period === period && row.complete);
    const [returned, visitors] = [over.reduce((n, row) => n + row.returned, 0), over.reduce((n, row) => n + row.visitors, 0)];
    return visitors ? formatPercent((100 * returned) / visitors) : "";
  };
  return (
    <tr>
      <th scope="row">{t.all}</th>
      <td class="number">{formatNumber(rows.filter((row) => row.period === 0).reduce((n, row) => n + row.visitors, 0))}</td>
      {periods.map((each) => <td key={each} class="number">{sums(each)}</td>)}
    </tr>
  );
}

function CellVisitors({ width }: { width: Width }) {
  const { cohort = "", after = "0", outcome } = address.value.own;
  const came = outcome !== "not_returned";
  const of = { name: "retention", period: width, date: cohort, after: Number(after), outcome: came ? "returned" : "not_returned" };
  const ask = visitorsAsk({ name: "visitors", of });
  const title = t.visitorsOf(cohortText(cohort, width), t.after[width](Number(after)));
  return (
    <Card title={title} ask={ask} file={VISITOR_FILE} className="wide" tab={came ? "returned" : "not_returned"}
      tabs={[{ id: "returned", label: t.returned }, { id: "not_returned", label: t.notReturned }]}
      onTab={(id) => goOwn({ outcome: id === "returned" ? "" : id, page: "" })}
      actions={<button type="button" class="quiet-button" onClick={() => goOwn({ cohort: "", after: "", outcome: "", page: "" })}>
        {texts.dialog.close}
      </button>}>
      <VisitorTable ask={ask} label={title} />
    </Card>
  );
}
