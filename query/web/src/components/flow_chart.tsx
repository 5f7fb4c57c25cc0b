// Paths as a picture: a column for each step, a bar for each page, bands as wide as the visits between two pages.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Flow, type FlowBand, type FlowNode } from "../state/flow";
import { formatNumber } from "../state/format";
import { texts } from "../texts";

const LEAST_COLUMN = 210;
const BAR = 10;
const GAP = 20;
const TOP = 14;
const HEIGHT = 440;
const LONGEST = 24;
const t = texts.paths;

interface Placed {
  x: number;
  y: number;
  height: number;
}

export function FlowChart({ flow, choose }: { flow: Flow; choose: (page: string) => void }) {
  const [over, setOver] = useState<FlowNode | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  const [within, setWithin] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWithin(frame.current!.clientWidth);
    measure(); // before the first drawing is seen
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);
  const column = Math.max(LEAST_COLUMN, within / flow.columns.length);
  const places = placeNodes(flow, column);
  const width = column * flow.columns.length;
  return (
    <div ref={frame} class="table-frame" tabIndex={0} role="region" aria-label={t.title}>
      <svg class="flow" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="group" aria-label={t.title}>
        {placeBands(flow, places).map(({ band, shape }, i) => (
          <path key={i} d={shape} class={over && over !== band.from && over !== band.to ? "band faint" : "band"}>
            <title>{t.band(nameOf(band.from), nameOf(band.to), formatNumber(band.sessions))}</title>
          </path>
        ))}
        {flow.columns.flatMap((column) => column.map((node) => (
          <Node key={`${places.get(node)!.x} ${node.page}`} node={node} at={places.get(node)!} choose={choose} setOver={setOver} />
        )))}
      </svg>
    </div>
  );
}

const nameOf = (node: FlowNode): string => node.page ?? t.others;

function Node({ node, at, choose, setOver }: {
  node: FlowNode;
  at: Placed;
  choose: (page: string) => void;
  setOver: (node: FlowNode | null) => void;
}) {
  const { page } = node;
  const name = nameOf(node);
  const shown = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
  const numbers = [formatNumber(node.sessions), formatNumber(node.onward)] as const;
  const act = page === null ? undefined : () => choose(page);
  return (
    <g class="node" role={act ? "button" : "img"} tabIndex={act ? 0 : undefined} aria-label={t.node(shown, ...numbers)} onClick={act}
      onKeyDown={(event) => event.key === "Enter" && act?.()} onPointerEnter={() => setOver(node)} onPointerLeave={() => setOver(null)}
      onFocus={() => setOver(node)} onBlur={() => setOver(null)}>
      <title>{t.node(name, ...numbers)}</title>
      <rect x={at.x} y={at.y} width={BAR} height={at.height} />
      <text x={at.x + BAR + 6} y={at.y + Math.min(at.height / 2, 12) + 4}>
        {shown} <tspan>{formatNumber(node.sessions)}</tspan>
      </text>
    </g>
  );
}

function placeNodes({ columns }: Flow, width: number): Map<FlowNode, Placed> {
  const total = (column: FlowNode[]) => column.reduce((sum, node) => sum + node.sessions, 0);
  const scale = Math.min(...columns.map((column) => (HEIGHT - 2 * TOP - GAP * column.length) / Math.max(1, total(column))));
  const places = new Map<FlowNode, Placed>();
  columns.forEach((column, i) => {
    let y = TOP;
    for (const node of column) {
      const height = Math.max(2, node.sessions * scale);
      places.set(node, { x: width * i, y, height });
      y += height + GAP;
    }
  });
  return places;
}

/** Bands leave and enter each bar below one another, in the order of the bars. */
function placeBands({ columns, bands }: Flow, places: Map<FlowNode, Placed>): { band: FlowBand; shape: string }[] {
  return bands.flatMap((ofColumn, i) => {
    const order = (node: FlowNode) => columns[i]!.indexOf(node);
    const next = (node: FlowNode) => columns[i + 1]!.indexOf(node);
    const sorted = ofColumn.toSorted((a, b) => order(a.from) - order(b.from) || next(a.to) - next(b.to));
    const [left, entered] = [new Map<FlowNode, number>(), new Map<FlowNode, number>()];
    return sorted.map((band) => {
      const [from, to] = [places.get(band.from)!, places.get(band.to)!];
      const y1 = from.y + take(left, band.from, (band.sessions / band.from.sessions) * from.height);
      const y2 = to.y + take(entered, band.to, (band.sessions / band.to.sessions) * to.height);
      const [h1, h2] = [(band.sessions / band.from.sessions) * from.height, (band.sessions / band.to.sessions) * to.height];
      return { band, shape: bandShape(from.x + BAR, y1, h1, to.x, y2, h2) };
    });
  });
}

/** What is taken of a bar so far; takes more. */
function take(taken: Map<FlowNode, number>, node: FlowNode, more: number): number {
  const before = taken.get(node) ?? 0;
  taken.set(node, before + more);
  return before;
}

function bandShape(x1: number, y1: number, h1: number, x2: number, y2: number, h2: number): string {
  const middle = (x1 + x2) / 2;
  return `M${x1},${y1}C${middle},${y1} ${middle},${y2} ${x2},${y2}V${y2 + h2}`
    + `C${middle},${y2 + h2} ${middle},${y1 + h1} ${x1},${y1 + h1}Z`;
}
