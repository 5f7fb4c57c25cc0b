// Retention: visitors by when they came first in the time range, and how many of them came again later, as a heat map and as a curve.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Ask } from "../api/ask";
import { isShared, timezone } from "../api/session";
import { useAnswer } from "../api/use";
import { BarList } from "../components/bar_list";
import { Card } from "../components/card";
import { ResultWarnings } from "../components/result_warnings";
import { type Series, SeriesChart } from "../components/series_chart";
import { Async } from "../components/states";
import { useSuggestions } from "../components/step_inputs";
import { StepSet } from "../components/step_set";
import { VISITOR_FILE, visitorsAsk, VisitorTable } from "../components/visitor_table";
import { VisitorsButton } from "../components/visitors_button";
import { address, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { formatBucket, formatDays, formatMonth, formatNumber, formatPercent } from "../state/format";
import { bucketDays, countDays, daysOf } from "../state/period";
import { formatSteps, parseSteps, type Step, stepMember } from "../state/steps";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Row } from "../types";

type Cell = Row<"retention">;
type Width = keyof typeof GRANULARITY;

const GRANULARITY = { day: "daily", week: "weekly", month: "monthly" };
/** Days of the time range from which a width is the one shown first. */
const FROM_DAYS: [Width, number][] = [["month", 120], ["week", 15], ["day", 0]];
/** The API counts at most 100 cohorts. */
const MOST_DAYS: Record<Width, number> = { day: 100, week: 690, month: 3000 };
/** The colors of the heat map, in the style sheet. */
const HEATS = 6;
/** Widths of the steps of the heat map, in percent. */
const HEAT_STEPS = [0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20];
/** With more periods the curve is below the table instead of beside it. */
const MOST_BESIDE = 6;
const MOST_ROWS = 10_000;
const t = moreTexts.retention;
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
  const suggestions = useSuggestions();
  const ask: Ask<"retention"> = { name: "retention", options: { period: width, limit: MOST_ROWS, ...stepOptions(own) } };
  const setStep = (name: "start" | "returning") => (steps: Step[]) => goOwn({ [name]: formatSteps(steps), cohort: "", after: "", page: "" });
  const loaded = useAnswer(ask);
  const periods = periodsOf(loaded.value?.rows ?? []);
  return (
    <>
      <div class={periods.length && periods.length <= MOST_BESIDE ? "retention-parts beside" : "retention-parts"}>
        <Card title={t.title} ask={ask} file={fileOf(width)} className="wide" tabs={widths.map((id) => ({ id, label: t.widths[id] }))} tab={width}
          onTab={(id) => goOwn({ width: id, cohort: "", after: "", page: "" })}>
          <div class="settings">
            <StepSet label={t.start} none={t.anyEvent} most={1} steps={stepsIn(own.start)} change={setStep("start")} suggestions={suggestions} />
            <StepSet label={t.returning} none={t.anyEvent} most={1} steps={stepsIn(own.returning)} change={setStep("returning")} suggestions={suggestions} />
          </div>
          <Async loaded={loaded} lines={8} isEmpty={({ rows }) => !rows.some((row) => row.visitors)}>
            {({ rows, warnings }) => (
              <>
                <Grid rows={rows} width={width} />
                <p class="quiet">{t.note[width]}{!isShared() && ` ${t.click}`}{address.value.filters.length > 0 && ` ${t.filtered}`}</p>
                <ResultWarnings warnings={warnings} />
              </>
            )}
          </Async>
        </Card>
        <Card title={t.curve} ask={ask} definition={t.curveNote}>
          <div class="series-frame">
            <Async loaded={loaded} lines={7} isEmpty={({ rows }) => !meansOf(rows).some((mean) => mean.visitors)} empty={t.noCurve}>
              {({ rows }) => <Curve rows={rows} width={width} />}
            </Async>
          </div>
        </Card>
      </div>
      <Frequency />
      {own.cohort && !isShared() && <CellVisitors width={width} />}
    </>
  );
}

const stepsIn = (text: string | undefined): Step[] => (text && parseSteps(text)) || [];

/** What begins a cohort, and what counts as coming again, where the address names them; a cohort that begins with an event does so in the time range. */
function stepOptions(own: Record<string, string>) {
  const [start] = stepsIn(own.start);
  const [returning] = stepsIn(own.returning);
  return {
    ...(start ? { start: stepMember(start), cohort: "first_in_range" as const } : {}), ...(returning ? { returning: stepMember(returning) } : {}),
  };
}

const FREQUENCY_FILE: FileColumn[] = [
  { field: "visits", label: texts.metrics.visits },
  { field: "visitors", label: texts.metrics.visitors },
  { field: "percentage", label: texts.download.percent(texts.metrics.visitors) },
  { field: "visits_total", label: t.visitsTogether },
];

/** How many visits visitors had in the time range. */
function Frequency() {
  const ask: Ask<"visit_frequency"> = { name: "visit_frequency" };
  const loaded = useAnswer(ask);
  return (
    <Card title={t.frequency} ask={ask} file={FREQUENCY_FILE}>
      <Async loaded={loaded} isEmpty={({ rows }) => !rows.some(({ visitors }) => visitors)}>
        {({ rows, warnings }) => (
          <>
            <BarList nameLabel={texts.metrics.visits} valueLabel={texts.metrics.visitors} bars={rows.slice(0, rows.findLastIndex(({ visitors }) => visitors) + 1).map((row) => ({
              key: row.visits, name: t.visits(row.to_visits, row.visits.replace("-", "\u2013")), value: row.visitors,
            }))} />
            <ResultWarnings warnings={warnings} />
          </>
        )}
      </Async>
    </Card>
  );
}

/** The share that came again of all cohorts whose period is over, by period. */
function Curve({ rows, width }: { rows: Cell[]; width: Width }) {
  const series = useMemo<Series>(() => {
    const means = meansOf(rows).filter(({ visitors }) => visitors);
    return {
      labels: means.map(({ period }) => String(period)), values: means.map(({ returned, visitors }) => shareOf(returned, visitors)), partial: null,
      granularity: "", name: t.curve, unit: t.all, format: formatPercent, bucketText: (label) => t.after[width](Number(label)),
    };
  }, [rows, width]);
  return <SeriesChart series={series} />;
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

/** A cell at the pointer, and where it is within the grid. */
interface Pointed {
  cell: Cell;
  box: DOMRect;
}

function Grid({ rows, width }: { rows: Cell[]; width: Width }) {
  const cohorts = cohortsOf(rows);
  const heat = heatOf(rows);
  const periods = periodsOf(rows);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const point = ({ target }: Event) => {
    const at = target instanceof Element ? target.closest<HTMLElement>("[data-cell]") : null;
    const [date, period] = at?.dataset.cell?.split(" ") ?? [];
    const cell = rows.find((row) => row.date === date && String(row.period) === period);
    setPointed(at && cell ? { cell, box: at.getBoundingClientRect() } : null);
  };
  return (
    <div class="retention-frame" onPointerOver={point} onFocusIn={point} onPointerLeave={() => setPointed(null)} onFocusOut={() => setPointed(null)}>
      <div class="table-frame" tabIndex={0} role="region" aria-label={t.title} onScroll={() => setPointed(null)}>
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
                <td class="number" data-cell={`${date} 0`}><CellButton cell={cells[0]!} text={formatNumber(cells[0]!.visitors)} width={width} /></td>
                {periods.map((each) => <GridCell key={each} cell={cells.find((cell) => cell.period === each)} width={width} step={heat.step} />)}
              </tr>
            ))}
          </tbody>
          <tfoot><Means rows={rows} periods={periods} step={heat.step} /></tfoot>
        </table>
      </div>
      <HeatLegend {...heat} />
      {pointed && <CellHover {...pointed} width={width} />}
    </div>
  );
}

const periodsOf = (rows: Cell[]): number[] => Array.from({ length: Math.max(0, ...rows.map(({ period }) => period)) }, (_, i) => i + 1);

/** How wide a step of the colors is, and how many there are: those of whole periods that come to the largest share. */
function heatOf(rows: Cell[]): { step: number; steps: number } {
  const most = Math.max(0, ...rows.map(({ period, complete, returned, visitors }) => (period && complete && visitors ? shareOf(returned, visitors) : 0)));
  const step = HEAT_STEPS.find((each) => each * HEATS >= most) ?? HEAT_STEPS.at(-1)!;
  return { step, steps: Math.ceil(most / step) };
}

/** In percent; that of the API is rounded already. */
const shareOf = (returned: number, visitors: number): number => (100 * returned) / visitors;

/** A larger share has a stronger color; none has none. */
const heatClass = (rate: number, step: number): string => (rate > 0 ? `heat-${Math.min(HEATS, Math.ceil(rate / step))}` : "");

function HeatLegend({ step, steps }: { step: number; steps: number }) {
  return (
    <ul class="heat-legend" aria-label={t.legend}>
      {Array.from({ length: steps }, (_, i) => <li key={i} class={`heat-${i + 1}`}>{`${formatNumber(i * step)}–${formatPercent((i + 1) * step, Number.isInteger(step) ? 0 : 1)}`}</li>)}
      <li class="incomplete">* {t.running}</li>
    </ul>
  );
}

function GridCell({ cell, width, step }: { cell: Cell | undefined; width: Width; step: number }) {
  if (!cell?.visitors) return <td />;
  const rate = shareOf(cell.returned, cell.visitors);
  const nothingYet = !cell.complete && !cell.returned;
  return (
    <td class={`number ${cell.complete ? heatClass(rate, step) : "incomplete"}`} data-cell={`${cell.date} ${cell.period}`}>
      <CellButton cell={cell} text={nothingYet ? "–" : `${formatPercent(rate)}${cell.complete ? "" : "*"}`} width={width} />
    </td>
  );
}

function CellButton({ cell, text, width }: { cell: Cell; text: string; width: Width }) {
  const { own } = address.value;
  const { date, period, returned, visitors } = cell;
  const result = t.cell(cohortText(date, width), t.after[width](period), formatNumber(returned), formatNumber(visitors));
  const remark = remarkOf(cell);
  return (
    <VisitorsButton pressed={own.cohort === date && own.after === String(period)} label={`${result}${remark && `; ${remark}`}`}
      open={() => goOwn({ cohort: date, after: String(period), outcome: "", page: "", sort: "" })}>{text}</VisitorsButton>
  );
}

const remarkOf = ({ complete, period, returned }: Cell): string => (complete || !period ? "" : returned ? t.running : t.nothingYet);

/** The numbers of a cell beside it. */
function CellHover({ cell, box, width }: Pointed & { width: Width }) {
  const note = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { offsetWidth, offsetHeight, offsetParent } = note.current!;
    const frame = offsetParent!.getBoundingClientRect();
    const left = box.left - frame.left + (box.width - offsetWidth) / 2;
    const above = box.top - frame.top - offsetHeight - 6;
    note.current!.style.left = `${Math.max(0, Math.min(left, frame.width - offsetWidth))}px`;
    note.current!.style.top = `${above >= 0 ? above : box.bottom - frame.top + 6}px`;
  });
  const { date, period, visitors, returned } = cell;
  const remark = remarkOf(cell);
  return (
    <div ref={note} class="hover" aria-hidden="true">
      <strong>{cohortText(date, width)}{period > 0 && ` · ${t.after[width](period)}`}</strong>
      <dl>
        <div><dt>{texts.metrics.visitors}</dt><dd>{formatNumber(visitors)}</dd><dd /></div>
        {period > 0 && <div><dt>{t.returned}</dt><dd>{formatNumber(returned)}</dd><dd class="quiet">{visitors > 0 && formatPercent(shareOf(returned, visitors), 2)}</dd></div>}
      </dl>
      {remark && <span class="quiet">{remark}</span>}
    </div>
  );
}

interface Mean {
  period: number;
  returned: number;
  visitors: number;
}

/** By period the visitors of all cohorts whose period is over, and how many of them came again. */
const meansOf = (rows: Cell[]): Mean[] => periodsOf(rows).map((period) => {
  const over = rows.filter((row) => row.period === period && row.complete);
  return { period, returned: over.reduce((n, row) => n + row.returned, 0), visitors: over.reduce((n, row) => n + row.visitors, 0) };
});

function Means({ rows, periods, step }: { rows: Cell[]; periods: number[]; step: number }) {
  const means = meansOf(rows);
  return (
    <tr>
      <th scope="row" title={t.curveNote}>{t.all}</th>
      <td class="number"><span>{formatNumber(rows.filter((row) => row.period === 0).reduce((n, row) => n + row.visitors, 0))}</span></td>
      {periods.map((each, i) => {
        const { returned, visitors } = means[i]!;
        if (!visitors) return <td key={each} />;
        const share = shareOf(returned, visitors);
        return <td key={each} class={`number ${heatClass(share, step)}`}><span title={t.mean(formatNumber(returned), formatNumber(visitors))}>{formatPercent(share)}</span></td>;
      })}
    </tr>
  );
}

function CellVisitors({ width }: { width: Width }) {
  const { own } = address.value;
  const { cohort = "", after = "0", outcome } = own;
  const came = outcome !== "not_returned";
  const of = { name: "retention", period: width, date: cohort, after: Number(after), outcome: came ? "returned" : "not_returned", ...stepOptions(own) };
  const ask = visitorsAsk({ name: "visitors", of });
  const loaded = useAnswer(ask);
  const title = t.visitorsOf(cohortText(cohort, width), t.after[width](Number(after)));
  return (
    <Card title={title} ask={ask} file={VISITOR_FILE} className="wide" tab={came ? "returned" : "not_returned"}
      tabs={[{ id: "returned", label: t.returned }, { id: "not_returned", label: t.notReturned }]}
      onTab={(id) => goOwn({ outcome: id === "returned" ? "" : id, page: "" })}
      actions={<button type="button" class="quiet-button" onClick={() => goOwn({ cohort: "", after: "", outcome: "", page: "" })}>
        {texts.dialog.close}
      </button>}>
      <VisitorTable loaded={loaded} label={title} />
    </Card>
  );
}
