// Draws series with uPlot: x is the position of a bucket, since labels are local times. Colors are those of tokens.css.
import uPlot from "uplot";
import { countFormat, formatCompact, formatDuration } from "../state/format";
import { locale } from "../state/language";
import type { Values } from "../state/lines";
import { isOfDay } from "../state/period";
import { tokenColor } from "../state/theme";

export const SHAPES = ["line", "bar"] as const;
export type Shape = (typeof SHAPES)[number];

/** One line, or the bars in its place. */
export interface PlotLine {
  values: Values;
  /** Name of a color in tokens.css. */
  color: string;
  kind: "main" | "before" | "imported" | "average";
  /** Whether it has the scale at the right. */
  isRight?: boolean;
}

export interface Plot {
  labels: string[];
  granularity: string;
  lines: PlotLine[];
  shape: Shape;
  /** Position of the bucket that can still grow, or negative. */
  running: number;
  format: (value: number) => string;
  /** Of values on the scale at the right. */
  rightFormat?: (value: number) => string;
  /** First and last bucket of what is flagged below the lines. */
  flags: [from: number, to: number][];
  /** Values at which something begins, with what. */
  bounds?: [value: number, text: string][];
  /** The text below a bucket, where it is not a time. */
  tickText?: (label: string) => string;
}

export interface PlotEvents {
  /** The pointer is at a bucket, at a place within the frame, or has left; `range` is what it drags over. */
  point: (at: number | null, x: number, y: number, range: [first: number, last: number] | null) => void;
  /** A bucket was clicked. */
  open: (at: number) => void;
  /** Buckets were dragged over; null where that has no meaning. */
  zoom: ((first: number, last: number) => void) | null;
  /** What the button at the pointed bucket is for; null without one. */
  add: { title: string; run: (at: number) => void } | null;
}

/** Opacity of the area below a line. */
const AREA = 0.12;
const [LEAST_DRAG, POINT, RUNNING_POINT] = [8, 7, 8];
/** The part of a bucket that a bar takes, and the most in pixels: alone, and beside another one. */
const [ALONE, BESIDE]: [number, number][] = [[0.62, 56], [0.36, 32]];
/** Of the line to the running bucket, and of bounds. */
const DASH = [3, 3];
/** Room of a line of the grid, of the label of a bucket, and of a digit, in pixels. */
const [ROW_ROOM, LABEL_ROOM, NARROW_ROOM, NARROW, DIGIT] = [52, 110, 56, 480, 7];
/** The scale at the right. */
const RIGHT = "right";
/** Beyond it hours are marked by their days. */
const MANY_DAYS = 2;
/** Distances of marks within a day, in minutes. */
const MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720];
const DAY_MINUTES = 1440;

export function drawPlot(frame: HTMLElement, plot: Plot, events: PlotEvents): uPlot {
  const { lines, running, shape, labels } = plot;
  const steps = stepsOf(plot, frame.clientHeight);
  const compared = shape === "bar" && lines.some(({ kind }) => kind === "before");
  const isAveraged = lines.some(({ kind }) => kind === "average");
  const several = lines.filter(({ kind }) => kind === "main").length > 1;
  const drawn = lines.flatMap((line): [uPlot.Series, Values][] => {
    const stroke = tokenColor(line.color);
    const scale = line.isRight ? RIGHT : "y";
    const bars = shape === "bar" ? barsOf(line.kind === "before" ? -1 : compared ? 1 : 0) : null;
    if (line.kind === "imported") return [[{ ...bars, stroke, width: 1, fill: () => hatched(stroke), points: { show: !bars } }, line.values]];
    if (line.kind === "average") return [[{ scale, stroke, width: 2, points: { show: true, size: POINT, fill: stroke, filter: () => aloneIn(line.values) } }, line.values]];
    const over = parted(line.values, (i) => running < 0 || i < running);
    const now = parted(line.values, (i) => i === running || (!bars && i === running - 1));
    if (bars) return [[{ ...bars, fill: stroke }, over], [{ ...bars, stroke, width: 1, fill: () => hatched(stroke) }, now]];
    const isMain = line.kind === "main";
    const lonely = over.filter((value) => value !== null).length === 1 || (isMain && lines.some(({ kind }) => kind === "imported"));
    const [width, size] = isMain ? [isAveraged ? 1.25 : 2, RUNNING_POINT] : [1.25, POINT];
    const area = isMain && !several ? faded(stroke) : undefined;
    return [
      [{ scale, stroke, width, fill: area, spanGaps: true, points: { show: lonely, size: POINT } }, over],
      ...(running < 0 ? [] : [
        [{ scale, stroke, width: 1.25, dash: DASH, points: { show: true, filter: () => [running], size, width, fill: tokenColor("--surface") } }, now] satisfies [uPlot.Series, Values],
      ]),
    ];
  });
  const edge = shape === "bar" || labels.length === 1 ? 0.5 : 0;
  const options: uPlot.Options = {
    width: Math.max(200, frame.clientWidth), height: frame.clientHeight, legend: { show: false }, padding: [12, steps.right ? 0 : 28, 0, 0],
    cursor: { y: false, points: { size: POINT }, move: toBucket, drag: {
      x: events.zoom !== null, y: false, setScale: false, dist: LEAST_DRAG,
      click: () => {}, // by default a pointer that moved by a pixel clicks nothing
    } },
    scales: { x: { time: false, range: () => [-edge, labels.length - 1 + edge] }, y: { range: rangeOf(steps.left) }, [RIGHT]: { range: rangeOf(steps.right ?? steps.left) } },
    axes: axesOf(frame, plot, steps),
    series: [{}, ...drawn.map(([series]) => series)],
    hooks: {
      ...hear(events),
      draw: [(chart) => {
        drawBounds(chart, plot.bounds ?? []);
        drawFlags(chart, plot.flags, tokenColor("--mark"));
      }],
    },
  };
  return new uPlot(options, [labels.map((_, i) => i), ...drawn.map(([, values]) => values)], frame);
}

/** The line at the pointer stands at the bucket whose values are shown, and a selection goes from bucket to bucket. */
const toBucket = (chart: uPlot, left: number, top: number): [number, number] =>
  (left < 0 ? [left, top] : [chart.valToPos(chart.posToIdx(left), "x"), top]);

/** A color as it is below a line. */
const faded = (color: string): string => color.replace("rgb(", "rgba(").replace(")", `, ${AREA})`);

function barsOf(align: -1 | 0 | 1): Partial<uPlot.Series> {
  return { width: 0, points: { show: false }, paths: uPlot.paths.bars!({ size: align ? BESIDE : ALONE, align, radius: [0.16, 0], gap: align ? 1 : 0 }) };
}

const parted = (values: Values, has: (at: number) => boolean): Values => values.map((value, i) => (has(i) ? value : null));

/** The places of values without one beside them, which are no line. */
const aloneIn = (values: Values): number[] => [...values.keys()].filter((at) => values[at] !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null);

/** Oblique lines, which tell values that are not over, or imported, from others without color. */
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

const [FLAG_HEIGHT, FLAG_WIDTH] = [18, 9];

/** A flag at the axis where each note begins, and a line below as long as it goes on. */
function drawFlags(chart: uPlot, flags: Plot["flags"], color: string): void {
  const { ctx, bbox } = chart;
  const [ratio, foot] = [devicePixelRatio, bbox.top + bbox.height];
  for (const [from, to] of flags) {
    const [x, end] = [from, to].map((at) => Math.round(chart.valToPos(at, "x", true))) as [number, number];
    const head = foot - FLAG_HEIGHT * ratio;
    drawLines(chart, color, [[x, head, x, foot], [x, foot, end, foot]]);
    ctx.save();
    ctx.fillStyle = color;
    ctx.beginPath();
    ctx.moveTo(x, head);
    ctx.lineTo(x + FLAG_WIDTH * ratio, head + 4 * ratio);
    ctx.lineTo(x, head + 8 * ratio);
    ctx.fill();
    ctx.restore();
  }
}

/** A dashed line with its text at each bound within the scale. */
function drawBounds(chart: uPlot, bounds: [value: number, text: string][]): void {
  const { ctx, bbox: { left, top, width } } = chart;
  for (const [value, text] of bounds) {
    const y = Math.round(chart.valToPos(value, "y", true));
    if (y < top) continue;
    drawLines(chart, tokenColor("--strong-line"), [[left, y, left + width, y]], DASH);
    ctx.save();
    ctx.font = `${12 * devicePixelRatio}px ${getComputedStyle(chart.root).fontFamily}`;
    ctx.fillStyle = tokenColor("--quiet");
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.fillText(text, left + 6 * devicePixelRatio, y + (y - top < 16 * devicePixelRatio ? 14 : -5) * devicePixelRatio);
    ctx.restore();
  }
}

function drawLines({ ctx }: uPlot, color: string, lines: [number, number, number, number][], dash: number[] = []): void {
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
  ctx.beginPath();
  for (const [x, y, toX, toY] of lines) {
    ctx.moveTo(x, y);
    ctx.lineTo(toX, toY);
  }
  ctx.stroke();
  ctx.restore();
}

/** Labels of buckets below, values at the left, and at the right where there is room for them. */
function axesOf(frame: HTMLElement, { labels, granularity, format, rightFormat = format, tickText }: Plot, { left, right }: Steps): uPlot.Axis[] {
  const common = { stroke: tokenColor("--quiet"), ticks: { show: false }, font: `12px ${getComputedStyle(frame).fontFamily}` };
  const textOf = (of: Plot["format"]) => (of === countFormat ? formatCompact : of);
  const [text, rightText] = [textOf(format), textOf(rightFormat)];
  const widthOf = (steps: number[], shown: Plot["format"]) => 20 + DIGIT * Math.max(2, ...steps.map((step) => shown(step).length));
  const isNarrow = (chart: uPlot) => chart.width < NARROW;
  return [
    {
      ...common, grid: { show: false }, size: 32, gap: 8, splits: () => tickPositions(labels, frame.clientWidth, granularity),
      values: (_, splits) => splits.map((i) => (tickText ? tickText(labels[i] ?? "") : tickLabel(labels[i], granularity))),
    },
    {
      ...common, grid: { stroke: tokenColor("--line"), width: 1 }, size: widthOf(left, text),
      splits: () => left, values: (_, splits) => splits.map((value) => text(value)),
    },
    ...(right ? [{
      ...common, scale: RIGHT, side: 1, grid: { show: false }, size: (chart: uPlot) => (isNarrow(chart) ? 28 : widthOf(right, rightText)),
      splits: () => right, values: (chart: uPlot, splits: number[]) => splits.map((value) => (isNarrow(chart) ? "" : rightText(value))),
    } satisfies uPlot.Axis] : []),
  ];
}

/** The numbers at the grid, of both scales as many, so that each line of the grid has one of each. */
interface Steps {
  left: number[];
  right: number[] | null;
}

function stepsOf({ lines, format, rightFormat = format }: Plot, height: number): Steps {
  const left = scaleOf(lines.filter(({ isRight }) => !isRight), height, format);
  const right = lines.some(({ isRight }) => isRight) ? scaleOf(lines.filter(({ isRight }) => isRight), height, rightFormat) : null;
  const [below, above] = [Math.max(left.below, right?.below ?? 0), Math.max(left.above, right?.above ?? 0)];
  const numbers = ({ step }: Scale) => Array.from({ length: below + above + 1 }, (_, i) => Number(((i - below) * step).toPrecision(12)));
  return { left: numbers(left), right: right && numbers(right) };
}

const rangeOf = (steps: number[]) => (): [number, number] => [steps[0]!, steps.at(-1)!];

/** Round steps from 0: so many that no value is below or above them. */
interface Scale {
  step: number;
  below: number;
  above: number;
}

function scaleOf(lines: Pick<PlotLine, "values">[], height: number, format: Plot["format"]): Scale {
  const numbers = lines.flatMap(({ values }) => values.map((value) => value ?? 0));
  const [least, most] = [Math.min(0, ...numbers), Math.max(0, ...numbers)];
  const rows = Math.max(2, Math.floor(height / ROW_ROOM));
  const areWhole = lines.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)));
  const step = stepOf((most - least) / rows, format, areWhole);
  const below = Math.ceil(-least / step);
  return { step, below, above: Math.max(below ? 0 : 1, Math.ceil(most / step)) };
}

/** Distances of durations, in seconds; from hours on as of numbers. */
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];

/** The smallest round distance from `least` on; whole numbers, such as counts, have no fractions between them. */
function stepOf(least: number, format: Plot["format"], areWhole: boolean): number {
  const duration = format === formatDuration ? SECONDS.find((each) => each >= least) : undefined;
  if (duration) return duration;
  const unit = format === formatDuration ? 3600 : 1;
  const power = 10 ** Math.floor(Math.log10(Math.max(least / unit, 1e-6)));
  const step = unit * [1, 2, 5, 10].map((each) => each * power).find((each) => each * unit >= least * (1 - 1e-9))!;
  return areWhole ? Math.max(1, step) : step;
}

/** As many as there is room for; of hours over several days the midnights, of few days even hours as well. */
function tickPositions(labels: string[], width: number, granularity: string): number[] {
  const room = Math.max(2, Math.floor((width - LABEL_ROOM / 2) / (width < NARROW ? NARROW_ROOM : LABEL_ROOM)));
  const midnights = labels.flatMap((label, i) => (isMidnight(label) ? [i] : []));
  const step = { minute: 1, quarter_hour: 15, hourly: 60 }[granularity] ?? 0;
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
  const within = isOfDay(granularity) && !isMidnight(label);
  const parts: Intl.DateTimeFormatOptions = within
    ? { hour: "numeric", minute: granularity === "hourly" ? undefined : "2-digit" }
    : granularity === "yearly" ? { year: "numeric" } : ["monthly", "quarterly"].includes(granularity) ? { month: "short", year: "2-digit" } : { day: "numeric", month: "short" };
  return new Intl.DateTimeFormat(locale, { ...parts, timeZone: "UTC" }).format(date);
}

/** Hands on what the pointer does. The first tap of a finger shows a bucket, the next one opens it. */
function hear({ point, open, zoom, add }: PlotEvents): uPlot.Hooks.Arrays {
  let [dragged, shown] = [false, true];
  let tapped: number | null | undefined = null;
  let adds: HTMLButtonElement | null = null;
  const ready = (chart: uPlot) => {
    const { over, cursor } = chart;
    adds = add && addButton(add.title, () => add.run(cursor.idx!));
    if (adds) over.append(adds);
    over.addEventListener("pointerdown", ({ pointerType }) => {
      dragged = false;
      shown = pointerType !== "touch" || cursor.idx === tapped;
    });
    over.addEventListener("pointermove", ({ pointerType, offsetX: left, offsetY: top, target }) => {
      if (pointerType === "touch" && target === over) chart.setCursor({ left, top });
    });
    over.addEventListener("click", ({ target }) => {
      if (target === over && !dragged && shown && typeof cursor.idx === "number") open(cursor.idx);
      tapped = cursor.idx;
    });
  };
  const setCursor = (chart: uPlot) => {
    const { cursor: { idx = null, left = 0, top = 0 }, over } = chart;
    const range = selected(chart);
    if (adds) {
      adds.hidden = idx === null || range !== null;
      adds.style.left = `${idx === null ? 0 : chart.valToPos(idx, "x")}px`;
    }
    point(idx, over.offsetLeft + left, over.offsetTop + top, range);
  };
  const setSelect = (chart: uPlot) => {
    const range = selected(chart);
    if (!range) return;
    dragged = true;
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    zoom?.(...range);
  };
  return { ready: [ready], setCursor: [setCursor], setSelect: [setSelect] };
}

/** First and last bucket that are dragged over; null where none are. */
function selected(chart: uPlot): [first: number, last: number] | null {
  const { left, width } = chart.select;
  return width > 0 ? [chart.posToIdx(left), chart.posToIdx(left + width)] : null;
}

/** For the pointer, at the foot of the line where it is; with the keyboard there is a button below the chart. */
function addButton(title: string, run: () => void): HTMLButtonElement {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "add-note", title, textContent: "+", tabIndex: -1, hidden: true });
  button.setAttribute("aria-hidden", "true");
  button.addEventListener("click", run);
  return button;
}

/** Keeps a chart as wide and high as its frame; the result removes it. */
export function fitted(frame: HTMLElement, chart: uPlot): () => void {
  const resized = new ResizeObserver(([entry]) =>
    chart.setSize({ width: Math.max(200, Math.floor(entry!.contentRect.width)), height: frame.clientHeight }));
  resized.observe(frame);
  return () => {
    resized.disconnect();
    chart.destroy();
  };
}
