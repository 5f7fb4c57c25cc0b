// Several lines over time with a legend, one for each combination of groups, distinguished by color and dashes; the running bucket is dashed.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { formatBucket, formatNumber } from "../state/format";
import type { Line } from "../state/lines";
import { theme } from "../state/theme";
import { texts } from "../texts";
import { DataTable } from "./data_table";
import { useOpened } from "./opened";
import { axesOf, CHART_HEIGHT, countFormat, fitted, runningPart, untilRunning } from "./series_chart";

export interface Lines {
  /** What the values are. */
  name: string;
  labels: string[];
  lines: Line[];
  partial: string | null;
  granularity: string;
  /** By default as a number. */
  format?: (value: number) => string;
}

const t = texts.chart;
/** Of the lines, in their order; colors are in the style sheet. */
const DASHES = [[], [], [], [], [6, 3], [6, 3], [2, 3], [2, 3]];
export const MOST_LINES = DASHES.length;
const RUNNING_DASH = [5, 5];

export function LinesChart({ chart }: { chart: Lines }) {
  const frame = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLUListElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const [asTable, setAsTable] = useOpened("table");
  const dark = theme.value;
  useEffect(() => {
    if (asTable) return;
    const colors = [...legend.current!.querySelectorAll("line")].map((swatch) => getComputedStyle(swatch).stroke);
    return fitted(frame.current!, draw(frame.current!, chart, colors, setAt));
  }, [chart, asTable, dark]);
  if (asTable) {
    return (
      <div class="series">
        <LinesTable chart={chart} />
        <footer><button type="button" class="quiet-button" onClick={() => setAsTable(false)}>{t.chart}</button></footer>
      </div>
    );
  }
  const label = at === null ? undefined : chart.labels[at];
  return (
    <div class="series">
      <div ref={frame} class="plot" role="img" aria-label={`${chart.name}: ${chart.lines.map(({ name }) => name).join(", ")}`}
        style={{ height: `${CHART_HEIGHT}px` }} />
      <ul ref={legend} class="legend">
        {chart.lines.map((line, i) => (
          <li key={i}>
            <svg width="26" height="8" aria-hidden="true" class={`line-${i + 1}`}>
              <line x1="1" x2="25" y1="4" y2="4" stroke-dasharray={DASHES[i]!.join(" ")} />
            </svg>
            <span>{line.name}</span>{label !== undefined && <b>{shown(line.values[at!], chart.format)}</b>}
          </li>
        ))}
      </ul>
      <footer>
        <span class="quiet">{label !== undefined && formatBucket(label, chart.granularity)}{label !== undefined && chart.partial === label && `, ${t.partial}`}</span>
        <button type="button" class="quiet-button" onClick={() => setAsTable(true)}>{t.table}</button>
      </footer>
    </div>
  );
}

const shown = (value: number | null | undefined, format = formatNumber): string =>
  value === null || value === undefined ? "–" : format(value);

function LinesTable({ chart: { name, labels, lines, granularity, format } }: { chart: Lines }) {
  return (
    <DataTable label={name} rows={labels} className="scrolled" columns={[
      { key: "label", label: t.bucket, className: "nowrap", render: (label) => formatBucket(label, granularity) },
      ...lines.map((line, i) => ({ key: String(i), label: line.name, number: true, render: (_: string, at: number) => shown(line.values[at], format) })),
    ]} />
  );
}

function draw(frame: HTMLElement, { labels, lines, granularity, partial, format }: Lines, colors: string[], hover: (at: number | null) => void): uPlot {
  const running = partial === null ? -1 : labels.indexOf(partial);
  const whole = lines.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)));
  const options: uPlot.Options = {
    width: Math.max(200, frame.clientWidth), height: CHART_HEIGHT, legend: { show: false }, padding: [12, 28, 0, 0],
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1)] } },
    axes: axesOf(frame, labels, granularity, format ?? (whole ? countFormat : formatNumber)),
    series: [{}, ...[DASHES, ...(running < 0 ? [] : [DASHES.map(() => RUNNING_DASH)])].flatMap((dashes) => lines.map((_, i) => ({
      stroke: colors[i], dash: dashes[i], width: 2, spanGaps: true, points: { show: labels.length === 1 },
    })))],
    hooks: { setCursor: [(chart) => hover(chart.cursor.idx ?? null)] },
  };
  const [over, open] = [lines.map(({ values }) => untilRunning(values, running)), lines.map(({ values }) => runningPart(values, running))];
  return new uPlot(options, [labels.map((_, i) => i), ...over, ...(running < 0 ? [] : open)], frame);
}
