// Series over time as lines or bars: the running bucket apart, the compared time range behind, every value of a bucket at the pointer.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import type { ComparedRow } from "../api/ask";
import { isShared, mayWriteRecords, timezone } from "../api/session";
import { address, go, goOwn } from "../state/address";
import { countFormat, formatBucket, formatDay, formatDays, formatNumber, formatPercent, formatRange, formatShortDays } from "../state/format";
import type { Line, Values } from "../state/lines";
import { AVERAGED, movingAverage } from "../state/moving_average";
import { type Annotation, notePosition } from "../state/notes";
import { bucketDays, type Days, daysOf, formatPeriod, isOfDay, type Period, presetOf } from "../state/period";
import { theme } from "../state/theme";
import { texts } from "../texts";
import type { Schemas } from "../types";
import { DataTable } from "./data_table";
import { Icon } from "./icon";
import { lazy } from "./lazy";
import { useOpened } from "./opened";
import { drawPlot, fitted, type PlotLine, type Shape, SHAPES } from "./plot";

export { countFormat };

export interface Series {
  /** Labels of the buckets, local to the time zone of the query. */
  labels: string[];
  /** The values of one line; several lines are in `lines`. */
  values?: Values;
  lines?: Line[];
  previous?: Values;
  previousLabels?: string[];
  /** The changes since the compared buckets, in percent; in points with `points`. */
  changes?: Values;
  points?: boolean;
  /** The compared time range; its end is excluded. */
  compared?: { start: string | null; end: string | null } | null;
  /** Label of the bucket that can still grow. */
  partial: string | null;
  granularity: string;
  name: string;
  /** What one value is, where that is not the name. */
  unit?: string;
  format: (value: number) => string;
  annotations?: Schemas["SeriesAnnotation"][];
  /** Where the data of the compared time range begins, if that is later than the range; then no line is drawn of it. */
  previousFrom?: string | null;
  /** What another product counted in buckets without data of the website itself. */
  imported?: { product: string; values: Values } | null;
  /** Values at which something begins, with what. */
  bounds?: [value: number, text: string][];
  /** Whether a line of moving averages can be switched on. */
  hasAverages?: boolean;
  /** Texts of the buckets, where they are not times. */
  bucketText?: (label: string) => string;
}

/** The members of a series that its comparison has; before bucket `first` there is no data. */
export function comparedSeries(
  comparison: { start: string | null; end: string | null; rows: ComparedRow[] } | null | undefined, field: string, first: number, points = false,
): Pick<Series, "previous" | "previousLabels" | "changes" | "points" | "compared" | "previousFrom"> {
  const rows = comparison?.rows;
  return {
    previous: rows?.map(({ previous }, i) => (i < first ? null : (previous?.[field] as number | undefined) ?? null)),
    previousLabels: rows?.map(({ previous }) => (previous?.date as string | undefined) ?? ""),
    changes: rows?.map(({ change, changePercent }, i) => (i < first ? null : (points ? change : changePercent)[field] ?? null)),
    points,
    compared: comparison,
    previousFrom: first ? (rows?.[first]?.previous?.date as string | undefined) ?? null : null,
  };
}

/** Where the pointer or the keyboard is: at a bucket, and at a place within the frame. */
interface Pointed {
  at: number;
  x: number;
  y: number;
  /** What is dragged over. */
  range: [first: number, last: number] | null;
}

/** So many lines can be told apart. */
export const MOST_LINES = 6;
/** Counts in so few buckets are bars at first. */
const FEW_BUCKETS = 6;
const BESIDE = 16;
const t = texts.chart;
const NoteDialog = lazy(() => import("./note_dialog"));

export function SeriesChart({ series }: { series: Series }) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [byKey, setByKey] = useState(false);
  const [edited, setEdited] = useState<Annotation | null>(null);
  const [asTable, setAsTable] = useOpened("table");
  const dark = useDark();
  const lines = linesOf(series);
  const shape = shapeOf(series);
  const { annotations, labels } = series;
  const isAveraged = averagesOf(series).length > 0;
  const writes = annotations !== undefined && !isShared() && mayWriteRecords();
  const addNote = (at: number) => setEdited({ start: labels[at]!.slice(0, 10), text: "" });
  useEffect(() => {
    if (asTable) return;
    plot.current = drawPlot(frame.current!, {
      labels, granularity: series.granularity, shape, running: runningOf(series), format: series.format, tickText: series.bucketText, bounds: series.bounds,
      lines: plotLines(series), rightFormat: lines.find(({ isRight }) => isRight)?.format,
      flags: (annotations ?? []).map((note) => notePosition(note, labels, timezone.value)).filter((place) => place !== null),
    }, {
      point: (at, x, y, range) => setPointed(at === null ? null : { at, x, y, range }),
      open: (at) => openPeriod(bucketPeriod(series, at)),
      zoom: zoomPeriod(series, 0, labels.length - 1, true) ? (first, last) => openPeriod(zoomPeriod(series, first, last)) : null,
      add: writes ? { title: t.addNote, run: addNote } : null,
    });
    const remove = fitted(frame.current!, plot.current);
    return () => {
      remove();
      setPointed(null);
    };
  }, [series, asTable, dark, shape, writes, isAveraged]);
  const move = (event: KeyboardEvent) => {
    const last = labels.length - 1;
    const at = pointed?.at ?? -1;
    const target = { ArrowRight: at < 0 ? 0 : at + 1, ArrowLeft: at < 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (target === undefined) {
      if (event.key === "Enter" && pointed) openPeriod(bucketPeriod(series, at));
      if (event.key === "Escape") plot.current?.setCursor({ left: -10, top: -10 });
      return;
    }
    event.preventDefault();
    event.stopPropagation(); // elsewhere arrows change the time range
    const chart = plot.current!;
    const place = Math.min(last, Math.max(0, target));
    setByKey(true);
    chart.setCursor({ left: chart.valToPos(place, "x"), top: chart.valToPos(lines[0]?.values[place] ?? 0, "y") });
  };
  return (
    <div class="series">
      <div class={canAverage(series) ? "series-head wraps" : "series-head"}>
        <Legend series={series} />
        <span class="series-shapes" role="group" aria-label={t.shape}>
          {canAverage(series) && (
            <button type="button" class="quiet-button" aria-pressed={isAveraged} title={t.averageHint}
              onClick={() => goOwn({ average: isAveraged ? "" : String(AVERAGED) }, { replace: true })}>{t.average(AVERAGED)}</button>
          )}
          {lines.length === 1 && !series.bucketText && SHAPES.map((each) => (
            <button key={each} type="button" class="icon" aria-pressed={!asTable && shape === each} aria-label={t.shapes[each]} title={t.shapes[each]}
              onClick={() => { setAsTable(false); goOwn({ chart: each }, { replace: true }); }}><Icon name={SHAPE_ICONS[each]} /></button>
          ))}
          <button type="button" class="icon" aria-pressed={asTable} aria-label={asTable ? t.chart : t.table} title={asTable ? t.chart : t.table}
            onClick={() => setAsTable(!asTable)}><Icon name="table" /></button>
        </span>
      </div>
      {asTable
        ? <SeriesTable series={series} />
        : (
          <div ref={frame} class="plot" role="application" tabIndex={0} aria-label={summaryOf(series)} aria-roledescription={t.role} aria-description={t.keys}
            onKeyDown={move} onBlur={() => plot.current?.setCursor({ left: -10, top: -10 })} onPointerMove={() => setByKey(false)}>
            {pointed && <Hover series={series} {...pointed} />}
            <p class="hidden" aria-live="polite">{byKey && pointed && spoken(series, pointed.at)}</p>
          </div>
        )}
      <footer>
        <Notes annotations={annotations ?? []} edit={writes ? setEdited : null} />
        {series.previousFrom && <span class="quiet">{t.previousFrom(formatBucket(series.previousFrom, series.granularity))}</span>}
        {writes && (
          <button type="button" class="quiet-button" onClick={() => addNote(pointed?.at ?? labels.length - 1)}><Icon name="flag" /> {t.addNote}</button>
        )}
      </footer>
      {edited && <NoteDialog note={edited} close={() => setEdited(null)} />}
    </div>
  );
}

const SHAPE_ICONS = { line: "chart-line", bar: "chart-column" } as const;

/** Changes with the theme: the chart is drawn anew, as its colors do not follow by themselves. */
function useDark(): boolean {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(system.matches);
  useEffect(() => {
    const changed = () => setDark(system.matches);
    system.addEventListener("change", changed);
    return () => system.removeEventListener("change", changed);
  }, []);
  return theme.value === "auto" ? dark : theme.value === "dark";
}

const linesOf = ({ lines, values, unit, name }: Series): Line[] => lines ?? [{ name: unit ?? name, values: values ?? [] }];

/** Whether there are enough buckets, and colors for as many lines again. */
const canAverage = (series: Series): boolean =>
  Boolean(series.hasAverages) && !series.bucketText && 2 * linesOf(series).length <= MOST_LINES && series.labels.length - (series.partial === null ? 0 : 1) >= AVERAGED;

/** A line of moving averages for each line, where the address asks for them. */
function averagesOf(series: Series): Line[] {
  if (!address.value.own.average || !canAverage(series)) return [];
  return linesOf(series).map((line, _, { length }) => ({
    ...line, name: length > 1 ? t.averageOf(line.name, AVERAGED) : t.average(AVERAGED), values: movingAverage(line.values, AVERAGED, runningOf(series)),
  }));
}

const withAverages = (series: Series): Line[] => [...linesOf(series), ...averagesOf(series)];

const runningOf = ({ partial, labels }: Series): number => (partial === null ? -1 : labels.indexOf(partial));

/** As the address says, else bars for few counts; several lines have no bars. */
function shapeOf(series: Series): Shape {
  if (series.lines || series.bucketText) return "line";
  const few = series.labels.length <= FEW_BUCKETS && series.format === countFormat;
  return SHAPES.find((each) => each === address.value.own.chart) ?? (few ? "bar" : "line");
}

/** A line that would rise from nowhere is none: it would look as if traffic had begun then. */
const isCompared = ({ previous, previousFrom }: Series): boolean => Boolean(!previousFrom && previous?.some((value) => value !== null));

function plotLines(series: Series): PlotLine[] {
  const { length } = linesOf(series);
  const main = withAverages(series).map(({ values, isRight }, i): PlotLine => ({ values, color: `--series-${i + 1}`, kind: i < length ? "main" : "average", isRight }));
  return [
    ...(isCompared(series) ? [{ values: series.previous!, color: "--series-before", kind: "before" } as const] : []),
    ...(series.imported ? [{ values: series.imported.values, color: "--mark", kind: "imported" } as const] : []),
    ...main,
  ];
}

function Legend({ series }: { series: Series }) {
  const { compared, imported, lines, bucketText } = series;
  const days = lines || bucketText ? null : daysOf(address.value.period, timezone.value);
  return (
    <ul class="legend">
      {withAverages(series).map(({ name, isRight }, i) => (
        <li key={i}><Swatch at={i} /><span>{days && i === 0 ? formatShortDays(days) : name}{isRight && <small class="right-scale"> {t.rightScale}</small>}</span></li>
      ))}
      {isCompared(series) && (
        <li><Swatch kind="before" /><span>{compared?.start && compared.end ? comparedText(compared.start, compared.end) : t.before}</span></li>
      )}
      {imported && <li class="imported-mark">{texts.imported.from(imported.product)}</li>}
    </ul>
  );
}

function comparedText(start: string, end: string): string {
  const [days, until] = formatRange(start, end, timezone.value, formatShortDays);
  return until ? t.until(days, until) : days;
}

/** The look of a line in the legend and at the pointer. */
const Swatch = ({ at = 0, kind = "main" }: { at?: number; kind?: PlotLine["kind"] }) => <i class={`swatch ${kind} color-${at + 1}`} aria-hidden="true" />;

/** One value of a bucket. */
interface Reading {
  name: string;
  value: string;
  kind: PlotLine["kind"];
  at: number;
  /** The change since the compared bucket. */
  change?: string;
}

const valueText = (value: number | null | undefined, format: Series["format"]): string => (value === null || value === undefined ? "–" : format(value));

/** All values of a bucket, as they are said at the pointer and to the keyboard. */
function readingsOf(series: Series, at: number): Reading[] {
  const { previous, previousLabels, imported, granularity, format, changes, compared } = series;
  const readings = withAverages(series).map((line, i): Reading => ({ name: line.name, value: valueText(line.values[at], line.format ?? format), kind: "main", at: i }));
  const importedValue = imported?.values[at];
  if (typeof importedValue === "number") readings.push({ name: texts.imported.from(imported!.product), value: format(importedValue), kind: "imported", at: 0 });
  const before = previous?.[at];
  if (before === null || before === undefined) return readings;
  const label = previousLabels?.[at];
  const until = label && at === runningOf(series) && compared?.start && compared.end ? formatRange(compared.start, compared.end, timezone.value)[1] : null;
  const name = label ? formatBucket(label, granularity) : t.before;
  readings.push({ name: until && !isOfDay(granularity) ? t.until(name, until) : name, value: format(before), kind: "before", at: 0 });
  const change = changes?.[at];
  if (typeof change === "number") readings[0]!.change = changeText(change, series.points);
  return readings;
}

function changeText(change: number, points = false): string {
  const sign = change > 0 ? "+" : change < 0 ? "−" : "±";
  return `${sign}${points ? t.points(formatNumber(Math.abs(Number(change.toFixed(1))))) : formatPercent(Math.abs(change))}`;
}

const bucketText = ({ bucketText: text, granularity }: Series, label: string): string => text?.(label) ?? formatBucket(label, granularity);

const notesAt = ({ annotations = [], labels }: Series, at: number): Schemas["SeriesAnnotation"][] =>
  annotations.filter((note) => {
    const place = notePosition(note, labels, timezone.value);
    return place && place[0] <= at && at <= place[1];
  });

/** The same for a screen reader. */
function spoken(series: Series, at: number): string {
  const label = series.labels[at];
  if (label === undefined) return "";
  const readings = readingsOf(series, at).map(({ name, value, change }) => `${name}: ${value}${change ? ` (${change})` : ""}`);
  const notes = notesAt(series, at).map(({ text }) => text);
  return [`${bucketText(series, label)}${at === runningOf(series) ? ` (${t.partial})` : ""}`, ...readings, ...notes].join(". ");
}

/** The values of a bucket beside the pointer, within the frame. */
function Hover({ series, at, x, y, range }: { series: Series } & Pointed) {
  const note = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { offsetWidth: width, offsetHeight: height, offsetParent } = note.current ?? {};
    if (!width || !height || !offsetParent) return;
    const right = x + BESIDE + width <= offsetParent.clientWidth ? x + BESIDE : x - BESIDE - width;
    note.current!.style.left = `${Math.max(0, right)}px`;
    note.current!.style.top = `${Math.min(Math.max(0, y - height / 2), offsetParent.clientHeight - height)}px`;
  });
  const label = series.labels[at];
  if (label === undefined) return null;
  const zoom = range && zoomPeriod(series, ...range);
  if (range) {
    return <div ref={note} class="hover" aria-hidden="true"><strong>{zoom ? formatDays(zoom) : bucketText(series, label)}</strong>{zoom && <span class="quiet">{t.release}</span>}</div>;
  }
  return (
    <div ref={note} class="hover" aria-hidden="true">
      <strong>{bucketText(series, label)}{at === runningOf(series) && <em>{t.partial}</em>}</strong>
      <dl>
        {readingsOf(series, at).map(({ name, value, kind, at: line, change }) => (
          <div key={`${kind} ${line}`}><dt><Swatch at={line} kind={kind} />{name}</dt><dd>{value}</dd><dd class="quiet">{change}</dd></div>
        ))}
      </dl>
      {notesAt(series, at).map(({ id, text }) => <span key={id} class="hover-note"><Icon name="flag" /><bdi>{text}</bdi></span>)}
      {bucketPeriod(series, at) && <span class="quiet">{t.open}</span>}
    </div>
  );
}

/** So many notes are written out below the chart; more are listed on demand. */
const SHOWN_NOTES = 3;

function Notes({ annotations, edit }: { annotations: Schemas["SeriesAnnotation"][]; edit: ((note: Annotation) => void) | null }) {
  const list = annotations.map((note) => {
    const text = <>{`${formatDay(note.start.slice(0, 10))}: `}<bdi>{note.text}</bdi></>;
    return edit
      ? <button key={note.id} type="button" class="note-mark" title={t.editNote} onClick={() => edit(note)}><Icon name="flag" />{text}</button>
      : <span key={note.id} class="note-mark"><Icon name="flag" />{text}</span>;
  });
  return list.length > SHOWN_NOTES ? <details class="notes"><summary>{t.noteCount(list.length)}</summary>{list}</details> : <>{list}</>;
}

function summaryOf(series: Series): string {
  const { imported, name } = series;
  const lines = linesOf(series);
  const ranges = lines.some(({ format }) => format) ? lines.map((line) => rangeOf(series, line.name, line.values, line.format))
    : [rangeOf(series, name, lines.flatMap(({ values }) => values))];
  if (imported) ranges.push(rangeOf(series, texts.imported.from(imported.product), imported.values));
  return ranges.join(". ");
}

function rangeOf(series: Series, name: string, values: Values, format = series.format): string {
  const { labels } = series;
  const numbers = values.filter((value) => value !== null);
  const [first, last] = [labels[0], labels.at(-1)].map((label) => (label ? bucketText(series, label) : ""));
  if (!numbers.length) return `${name}: ${texts.states.empty}`;
  return `${name}, ${first} – ${last}: ${format(Math.min(...numbers))} – ${format(Math.max(...numbers))}`;
}

function SeriesTable({ series }: { series: Series }) {
  const { imported, previous } = series;
  const columns: Line[] = [
    ...withAverages(series),
    ...(imported ? [{ name: texts.imported.from(imported.product), values: imported.values }] : []),
    ...(previous ? [{ name: t.previous, values: previous }] : []),
  ];
  return (
    <DataTable label={series.name} rows={series.labels} className="scrolled" columns={[
      { key: "label", label: series.bucketText ? "" : t.bucket, className: "nowrap", render: (label, at) => {
        const text = bucketText(series, label);
        const period = bucketPeriod(series, at);
        return period ? <button type="button" class="row-link" title={t.openBucket} onClick={() => openPeriod(period)}>{text}</button> : text;
      } },
      ...columns.map(({ name: label, values, format = series.format }, i) => ({ key: String(i), label, number: true, render: (_: string, at: number) => valueText(values[at], format) })),
    ]} />
  );
}

/** The days of a bucket, where they are not what is shown already. */
function bucketPeriod({ labels, granularity, bucketText: text, lines }: Series, at: number): Period | null {
  const label = labels[at];
  if (!label || (granularity !== "hourly" && isOfDay(granularity)) || text || lines) return null;
  return otherPeriod(bucketDays(label.slice(0, 10), granularity));
}

/** The days from one bucket to another within the time range; with `whole` also all that are shown. */
function zoomPeriod({ labels, granularity, bucketText: text, lines }: Series, first: number, last: number, whole = false): Days | null {
  const [from, to] = [labels[first], labels[last]];
  if (!from || !to || text || lines) return null;
  const range = daysOf(address.value.period, timezone.value);
  const { end } = bucketDays(to.slice(0, 10), granularity);
  const days = { start: from.slice(0, 10) < range.start ? range.start : from.slice(0, 10), end: end > range.end ? range.end : end };
  if (whole) return days.start < days.end ? days : null;
  return otherPeriod(days) && days;
}

/** Days as a time range of the page, unless it is the one that is shown. */
function otherPeriod(days: Days): Period | null {
  const period = presetOf(days, timezone.value);
  return formatPeriod(period) === formatPeriod(address.value.period) ? null : period;
}

/** Shows days alone, also in the other views. */
function openPeriod(period: Period | null): void {
  if (period) go({ period: typeof period === "string" ? period : presetOf(period, timezone.value), granularity: null });
}
