// A time series as a line: the running bucket dashed, the compared time range behind it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { timezone } from "../api/session";
import { address, go } from "../state/address";
import { formatBucket, formatNumber } from "../state/format";
import { locale } from "../state/language";
import { bucketDays, formatPeriod, type Period, presetOf } from "../state/period";
import { theme, tokenColor } from "../state/theme";
import { texts } from "../texts";
import type { Schemas } from "../types";
import { DataTable } from "./data_table";
import { useOpened } from "./opened";

export interface Series {
  /** Labels of the buckets, local to the time zone of the query. */
  labels: string[];
  values: (number | null)[];
  previous?: (number | null)[];
  previousLabels?: string[];
  /** Label of the bucket that can still grow. */
  partial: string | null;
  granularity: string;
  name: string;
  /** What one value is, where that is not the name. */
  unit?: string;
  format: (value: number) => string;
  annotations?: Schemas["SeriesAnnotation"][];
  /** Where the line of the compared time range begins, if that is later than the range. */
  previousFrom?: string | null;
  /** What another product counted in buckets without data of the website itself. */
  imported?: { product: string; values: (number | null)[] } | null;
}

/** Where the pointer is: at a bucket, and at a place within the frame. */
interface Pointed {
  at: number;
  x: number;
  y: number;
}

export const CHART_HEIGHT = 240;
const BESIDE = 14;
/** Beyond it hours are marked by their days. */
const MANY_DAYS = 2;
/** Distances of marks within a day, in minutes. */
const MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720];
const DAY_MINUTES = 1440;
/** Room for the label of a bucket, and for values beside the chart, in pixels. */
const [LABEL_ROOM, NARROW_ROOM, NARROW, DIGIT] = [110, 60, 480, 7];
const t = texts.chart;

export function SeriesChart({ series }: { series: Series }) {
  const frame = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [asTable, setAsTable] = useOpened("table");
  const dark = theme.value;
  useEffect(() => {
    if (asTable) return;
    return fitted(frame.current!, draw(frame.current!, series, setPointed));
  }, [series, asTable, dark]);
  return (
    <div class="series">
      {asTable
        ? <SeriesTable series={series} />
        : (
          <div ref={frame} class="plot" role="img" aria-label={summaryOf(series)} style={{ height: `${CHART_HEIGHT}px` }}>
            {pointed && <Hover series={series} {...pointed} />}
          </div>
        )}
      <footer>
        {series.annotations?.map((note) => (
          <span key={note.id} class="note-mark">{`${formatBucket(note.start.slice(0, 10), "daily")}: `}<bdi>{note.text}</bdi></span>
        ))}
        {series.imported && <span class="imported-mark">{texts.imported.from(series.imported.product)}</span>}
        {series.previousFrom && <span class="quiet">{t.previousFrom(formatBucket(series.previousFrom, series.granularity))}</span>}
        <button type="button" class="quiet-button" onClick={() => setAsTable(!asTable)}>
          {asTable ? t.chart : t.table}
        </button>
      </footer>
    </div>
  );
}

function summaryOf(series: Series): string {
  const { imported } = series;
  const own = rangeOf(series);
  return imported ? `${own}. ${rangeOf({ ...series, name: texts.imported.from(imported.product), values: imported.values })}` : own;
}

function rangeOf({ name, labels, values, granularity, format }: Series): string {
  const known = values.filter((value) => value !== null);
  const [first, last] = [labels[0], labels.at(-1)].map((label) => (label ? formatBucket(label, granularity) : ""));
  if (!known.length) return `${name}: ${texts.states.empty}`;
  return `${name}, ${first} – ${last}: ${format(Math.min(...known))} – ${format(Math.max(...known))}`;
}

/** The values of a bucket beside the pointer, within the frame. */
function Hover({ series, at, x, y }: { series: Series } & Pointed) {
  const note = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { offsetWidth: width, offsetHeight: height, offsetParent } = note.current ?? {};
    if (!width || !height || !offsetParent) return;
    const right = x + BESIDE + width <= offsetParent.clientWidth ? x + BESIDE : x - BESIDE - width;
    note.current!.style.left = `${Math.max(0, right)}px`;
    note.current!.style.top = `${Math.min(Math.max(0, y - height / 2), CHART_HEIGHT - height)}px`;
  });
  const label = series.labels[at];
  if (label === undefined) return null;
  const [value, before] = [series.values[at], series.previous?.[at]];
  const beforeLabel = series.previousLabels?.[at];
  return (
    <div ref={note} class="hover" aria-hidden="true">
      <strong>{formatBucket(label, series.granularity)}</strong>
      {series.partial === label && <em>{t.partial}</em>}
      <span>{series.unit ?? series.name}: <b>{value === null || value === undefined ? "–" : series.format(value)}</b></span>
      {typeof series.imported?.values[at] === "number" && (
        <span>{texts.imported.from(series.imported.product)}: <b>{series.format(series.imported.values[at])}</b></span>
      )}
      {before !== undefined && before !== null && (
        <span class="quiet">{beforeLabel ? formatBucket(beforeLabel, series.granularity) : t.previous}: {series.format(before)}</span>
      )}
      {canOpen(series, at) && <span class="quiet">{t.open}</span>}
    </div>
  );
}

function SeriesTable({ series }: { series: Series }) {
  const { imported } = series;
  const rows = series.labels.map((label, i) => ({ label, value: series.values[i], previous: series.previous?.[i], imported: imported?.values[i] }));
  const show = (value: number | null | undefined) =>
    value === null || value === undefined ? "–" : series.format(value);
  return (
    <DataTable label={series.name} rows={rows} className="scrolled" columns={[
      { key: "label", label: t.bucket, render: (row, at) => {
        const text = formatBucket(row.label, series.granularity);
        return canOpen(series, at) ? <button type="button" class="row-link" title={t.openBucket} onClick={() => openBucket(series, at)}>{text}</button> : text;
      } },
      { key: "value", label: series.unit ?? series.name, number: true, render: (row) => show(row.value) },
      ...(imported
        ? [{ key: "imported", label: texts.imported.from(imported.product), number: true, render: (row: (typeof rows)[0]) => show(row.imported) }]
        : []),
      ...(series.previous
        ? [{ key: "previous", label: t.previous, number: true, render: (row: (typeof rows)[0]) => show(row.previous) }]
        : []),
    ]} />
  );
}

/** Draws with the colors of the theme; x is the position of the bucket, since labels are local times. */
function draw(frame: HTMLElement, series: Series, hover: (pointed: Pointed | null) => void): uPlot {
  const color = tokenColor;
  const { labels, values } = series;
  const running = series.partial === null ? -1 : labels.indexOf(series.partial);
  const [closed, open] = [untilRunning(values, running), runningPart(values, running)];
  const { imported } = series;
  const line = { width: 2, spanGaps: !imported, points: { show: Boolean(imported) || values.filter((value) => value !== null).length === 1 } };
  const options: uPlot.Options = {
    width: Math.max(200, frame.clientWidth), height: CHART_HEIGHT, legend: { show: false },
    padding: [12, 28, 0, 0],
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1)] } },
    axes: axesOf(frame, labels, series.granularity, series.format),
    series: [
      {},
      { ...line, stroke: color("--faint-line"), width: 1.5, dash: [3, 3] },
      { ...line, stroke: color("--accent"), fill: color("--accent-fill") },
      { ...line, stroke: color("--accent"), dash: [5, 5] },
      { ...line, stroke: color("--mark"), width: 1, fill: () => hatched(color("--mark")) },
    ],
    hooks: {
      setCursor: [(chart) => hover(pointedAt(chart))],
      ready: [(chart) => chart.over.addEventListener("click", () => openBucket(series, chart.cursor.idx))],
      draw: [(chart) => markAnnotations(chart, series, color("--mark"))],
    },
  };
  const positions = labels.map((_, i) => i);
  return new uPlot(options, [positions, series.previous ?? labels.map(() => null), closed, open, imported?.values ?? labels.map(() => null)], frame);
}

/** Oblique lines, which tell imported values from others without color. */
function hatched(color: string): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const lines = tile.getContext("2d")!;
  lines.strokeStyle = color;
  lines.moveTo(0, 8);
  lines.lineTo(8, 0);
  lines.stroke();
  return lines.createPattern(tile, "repeat") ?? color;
}

type Values = (number | null)[];

/** The values of the buckets that are over; `running` is the position of the one that is not, or negative. */
export const untilRunning = (values: Values, running: number): Values =>
  values.map((value, i) => (running >= 0 && i >= running ? null : value));

/** The running bucket and the one before, from which its line comes. */
export const runningPart = (values: Values, running: number): Values =>
  values.map((value, i) => (running >= 0 && (i === running || i === running - 1) ? value : null));

/** Labels of buckets below, values at the left. */
export function axesOf(frame: HTMLElement, labels: string[], granularity: string, format: (value: number) => string): uPlot.Axis[] {
  const color = tokenColor;
  const common = { stroke: color("--quiet"), ticks: { show: false }, font: `12px ${getComputedStyle(frame).fontFamily}` };
  return [
    {
      ...common, grid: { show: false }, size: 32, splits: () => tickPositions(labels, frame.clientWidth, granularity),
      values: (_, splits) => splits.map((i) => tickLabel(labels[i], granularity)),
    },
    {
      ...common, grid: { stroke: color("--line"), width: 1 }, size: valueRoom, values: (_, splits) => splits.map(format),
      ...(format === countFormat ? { incrs: COUNT_STEPS } : {}),
    },
  ];
}

/** As wide as the longest of the values at the left. */
const valueRoom = (_: uPlot, values: string[] | null): number => 20 + DIGIT * Math.max(2, ...(values ?? []).map((value) => value?.length ?? 0));

/** Keeps a chart as wide as its frame; the result removes it. */
export function fitted(frame: HTMLElement, chart: uPlot): () => void {
  const resized = new ResizeObserver(([entry]) =>
    chart.setSize({ width: Math.max(200, Math.floor(entry!.contentRect.width)), height: CHART_HEIGHT }));
  resized.observe(frame);
  return () => {
    resized.disconnect();
    chart.destroy();
  };
}

function pointedAt({ cursor: { idx, left = 0, top = 0 }, over }: uPlot): Pointed | null {
  return idx === null || idx === undefined ? null : { at: idx, x: over.offsetLeft + left, y: over.offsetTop + top };
}

/** The days of a bucket, where they are not what is shown already. */
function periodOf({ labels, granularity }: Series, at: number | null | undefined): Period | null {
  const label = labels[at ?? -1];
  if (!label || granularity === "minute") return null;
  const period = presetOf(bucketDays(label.slice(0, 10), granularity), timezone.value);
  return formatPeriod(period) === formatPeriod(address.value.period) ? null : period;
}

const canOpen = (series: Series, at: number): boolean => periodOf(series, at) !== null;

/** Shows the days of a bucket alone, also in the other views. */
function openBucket(series: Series, at: number | null | undefined): void {
  const period = periodOf(series, at);
  if (period) go({ period, granularity: null });
}

/** As many as there is room for; of hours over several days the midnights, of few days even hours as well. */
function tickPositions(labels: string[], width: number, granularity: string): number[] {
  const room = Math.max(2, Math.floor((width - LABEL_ROOM / 2) / (width < NARROW ? NARROW_ROOM : LABEL_ROOM)));
  const midnights = labels.flatMap((label, i) => (isMidnight(label) ? [i] : []));
  const step = granularity === "hourly" ? 60 : granularity === "minute" ? 1 : 0;
  if (step && midnights.length <= MANY_DAYS) {
    const minutes = MINUTES.find((each) => each >= (labels.length * step) / room) ?? DAY_MINUTES;
    return labels.flatMap((label, i) => (minuteOf(label) % minutes === 0 ? [i] : []));
  }
  const places = midnights.length ? midnights : [...labels.keys()];
  const every = Math.max(1, Math.ceil(places.length / room));
  return places.filter((_, i) => i % every === 0);
}

/** Of the day. */
const minuteOf = (label: string): number => 60 * Number(label.slice(11, 13)) + Number(label.slice(14, 16));

/** Of hours and minutes only: labels of days have no time. */
const isMidnight = (label: string): boolean => label.slice(11, 16) === "00:00";

function tickLabel(label: string | undefined, granularity: string): string {
  if (!label) return "";
  const date = new Date(`${label.slice(0, 10)}T${label.slice(11) || "00:00:00"}Z`);
  const within = (granularity === "hourly" || granularity === "minute") && !isMidnight(label);
  const parts: Intl.DateTimeFormatOptions = within
    ? { hour: "numeric", minute: granularity === "minute" ? "2-digit" : undefined }
    : granularity === "monthly" ? { month: "short", year: "2-digit" } : { day: "numeric", month: "short" };
  return new Intl.DateTimeFormat(locale, { ...parts, timeZone: "UTC" }).format(date);
}

function markAnnotations(chart: uPlot, { annotations = [], labels, granularity }: Series, color: string): void {
  for (const note of annotations) {
    const day = note.start.slice(0, granularity === "monthly" ? 7 : 10);
    const shown = labels.findLast((label) => label.slice(0, day.length) <= day)?.slice(0, day.length);
    if (!shown) continue;
    const at = labels.findIndex((label) => label.startsWith(shown)); // hours: the first of the day
    const x = Math.round(chart.valToPos(at, "x", true));
    chart.ctx.save();
    chart.ctx.strokeStyle = color;
    chart.ctx.setLineDash([2, 4]);
    chart.ctx.beginPath();
    chart.ctx.moveTo(x, chart.bbox.top);
    chart.ctx.lineTo(x, chart.bbox.top + chart.bbox.height);
    chart.ctx.stroke();
    chart.ctx.restore();
  }
}

/** Distances of the lines of counts, which have no fractions. */
const COUNT_STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
export const countFormat = (value: number): string => formatNumber(value);
