// Paths as a picture: a column for each step, a bar for each page, bands as wide as the visits between two pages, and a
// stub where visits end. The paths through one page are drawn over the others; on a phone there are lists instead.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Flow, type FlowBand, type FlowNode, type Traced, traced } from "../state/flow";
import { formatNumber, formatPercent } from "../state/format";
import { moreTexts } from "../texts.more";

/** Below, the picture is a list. */
const LEAST_WIDTH = 620;
const LEAST_COLUMN = 150;
const LAST_COLUMN = 170;
const BAR = 10;
const STUB = 14;
const [LEAST_GAP, MOST_GAP] = [26, 64];
const TOP = 10;
const HEIGHT = 460;
const LETTER = 7.2;
/** Pages with a hue of their own; the first of all steps together. */
const HUES = 6;
const t = moreTexts.paths;

interface Placed {
  x: number;
  y: number;
  height: number;
}

export interface FlowChoice {
  flow: Flow;
  pinned: FlowNode | undefined;
  /** Pins a node, or none. */
  pin: (node: FlowNode | null) => void;
}

export function FlowChart({ flow, pinned, pin, over, setOver, details }: FlowChoice & {
  over: FlowNode | null;
  setOver: (node: FlowNode | null) => void;
  /** Of the node that is shown: below the picture, or within the list. */
  details: ComponentChildren;
}) {
  const { frame, width } = useWidth();
  const shown = over ?? pinned ?? null;
  const trace = useMemo(() => shown && traced(flow, shown), [flow, shown]);
  const choice = { flow, pinned, pin };
  return (
    <div ref={frame} class="flow-frame">
      {width > 0 && (width < LEAST_WIDTH ? <FlowList {...choice} details={details} /> : (
        <>
          <Picture {...choice} within={width} trace={trace} setOver={setOver} />
          {details}
        </>
      ))}
    </div>
  );
}

function useWidth() {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(frame.current!.clientWidth);
    measure(); // before the first drawing is seen
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);
  return { frame, width };
}

function Picture({ flow, pinned, pin, within, trace, setOver }: FlowChoice & {
  within: number;
  trace: Traced | null;
  setOver: (node: FlowNode | null) => void;
}) {
  const column = Math.max(LEAST_COLUMN, (within - LAST_COLUMN) / Math.max(1, flow.columns.length - 1));
  const width = Math.max(within, column * (flow.columns.length - 1) + LAST_COLUMN);
  const places = useMemo(() => placeNodes(flow, column), [flow, column]);
  const bands = useMemo(() => placeBands(flow, places), [flow, places]);
  const hues = useMemo(() => huesOf(flow), [flow]);
  const letters = (Math.min(column, LAST_COLUMN) - BAR - STUB) / LETTER;
  return (
    <div class="table-frame" tabIndex={width > within ? 0 : undefined} role="region" aria-label={t.title}>
      <ol class="flow-heads" style={{ width }}>
        {flow.columns.map((_, i) => <li key={i}>{t.step(i + 1)}</li>)}
        <li class="flow-key">{t.stub}</li>
      </ol>
      <svg class={trace ? "flow traced" : "flow"} width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="group" aria-label={t.title}
        onKeyDown={(event) => event.key === "Escape" && pin(null)}>
        {bands.map(({ band, from, to }, i) => (
          <path key={i} d={bandShape(from, to)} class={`band ${hueClass(hues, band.from)}`}>
            <title>{t.band(nodeName(band.from), nodeName(band.to), formatNumber(band.sessions))}</title>
          </path>
        ))}
        {trace && bands.filter(({ band }) => trace.bands.has(band)).map(({ band, from, to }, i) => (
          <path key={i} d={bandShape(...part(from, to, trace.bands.get(band)! / band.sessions))} class={`band over ${hueClass(hues, band.from)}`} />
        ))}
        {flow.columns.flat().map((node) => (
          <Node key={`${node.column} ${node.page}`} node={node} at={places.get(node)!} letters={letters} hue={hueClass(hues, node)}
            passed={trace ? (trace.nodes.get(node) ?? 0) : null} left={trace ? (trace.left.get(node) ?? 0) : node.left}
            total={flow.sessions} pinned={node === pinned} pin={() => pin(node === pinned ? null : node)} setOver={setOver} />
        ))}
      </svg>
    </div>
  );
}

export const nodeName = (node: FlowNode): string => node.page ?? t.others(node.pages, formatNumber(node.pages));

function Node({ node, at, letters, hue, passed, left, total, pinned, pin, setOver }: {
  node: FlowNode;
  at: Placed;
  /** As many fit beside the bar. */
  letters: number;
  hue: string;
  /** The sessions of the traced paths; null when none are traced. */
  passed: number | null;
  left: number;
  total: number;
  pinned: boolean;
  pin: () => void;
  setOver: (node: FlowNode | null) => void;
}) {
  const name = nodeName(node);
  const number = formatNumber(passed ?? node.sessions);
  const room = Math.max(6, Math.floor(letters - number.length - 1));
  const shown = name.length > room ? `${name.slice(0, room - 1)}…` : name;
  const words = t.node(name, formatNumber(node.sessions), formatPercent((100 * node.sessions) / total), formatNumber(node.left));
  const toKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    pin();
  };
  const passedHeight = passed === null ? at.height : (at.height * passed) / node.sessions;
  const leftHeight = (at.height * left) / node.sessions;
  return (
    <g class={`node ${hue} ${passed === 0 ? "aside" : ""}`} role="button" tabIndex={0} aria-pressed={pinned} aria-label={shown === name ? words : `${shown} ${number}: ${words}`} onClick={pin}
      onKeyDown={toKey} onPointerEnter={() => setOver(node)} onPointerLeave={() => setOver(null)} onFocus={() => setOver(node)} onBlur={() => setOver(null)}>
      <title>{words}</title>
      <rect class="target" x={at.x} y={at.y - 4} width={BAR + STUB + LETTER * letters} height={Math.max(at.height, 14) + 8} />
      <rect class="whole" x={at.x} y={at.y} width={BAR} height={at.height} />
      {passedHeight > 0 && <rect class="passed" x={at.x} y={at.y} width={BAR} height={Math.max(1.5, passedHeight)} />}
      {leftHeight > 0 && <rect class="left" x={at.x + BAR} y={at.y + at.height - leftHeight} width={STUB} height={leftHeight} rx={Math.min(4, leftHeight / 2)} />}
      <text x={at.x + BAR + STUB + 5} y={at.y + Math.min(at.height / 2, 14) + 5}>{shown} <tspan>{number}</tspan></text>
    </g>
  );
}

/** The most frequent pages of all steps have a hue each, in every column the same. */
function huesOf({ columns }: Flow): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { page, sessions } of columns.flat()) if (page) counts.set(page, (counts.get(page) ?? 0) + sessions);
  return new Map([...counts].toSorted(([, a], [, b]) => b - a).slice(0, HUES).map(([page], i) => [page, i + 1]));
}

const hueClass = (hues: Map<string, number>, { page }: FlowNode): string => `hue-${(page !== null && hues.get(page)) || 0}`;

/** Each column fills the height, as far as its bars may be apart. */
function placeNodes({ columns }: Flow, width: number): Map<FlowNode, Placed> {
  const total = (column: FlowNode[]) => column.reduce((sum, node) => sum + node.sessions, 0);
  const scale = Math.min(...columns.map((column) => (HEIGHT - 2 * TOP - LEAST_GAP * (column.length - 1)) / Math.max(1, total(column))));
  const places = new Map<FlowNode, Placed>();
  columns.forEach((column, i) => {
    const free = HEIGHT - 2 * TOP - total(column) * scale;
    const gap = Math.min(MOST_GAP, Math.max(LEAST_GAP, free / Math.max(1, column.length - 1)));
    let y = TOP;
    for (const node of column) {
      const height = Math.max(2, node.sessions * scale);
      places.set(node, { x: width * i, y, height });
      y += height + gap;
    }
  });
  return places;
}

interface PlacedBand {
  band: FlowBand;
  from: Placed;
  to: Placed;
}

/** Bands leave and enter each bar below one another, in the order of the bars. */
function placeBands({ columns, bands }: Flow, places: Map<FlowNode, Placed>): PlacedBand[] {
  const order = new Map(columns.flatMap((column) => column.map((node, i) => [node, i] as const)));
  const sorted = bands.toSorted((a, b) => order.get(a.from)! - order.get(b.from)! || order.get(a.to)! - order.get(b.to)!);
  const [taken, entered] = [new Map<FlowNode, number>(), new Map<FlowNode, number>()];
  const side = (used: Map<FlowNode, number>, node: FlowNode, sessions: number, x: number): Placed => {
    const at = places.get(node)!;
    const [before, height] = [used.get(node) ?? 0, (at.height * sessions) / node.sessions];
    used.set(node, before + height);
    return { x: at.x + x, y: at.y + before, height };
  };
  return sorted.map((band) => ({ band, from: side(taken, band.from, band.sessions, BAR), to: side(entered, band.to, band.sessions, 0) }));
}

/** Both ends of the upper part of a band, at least as thick as can be seen. */
const part = (from: Placed, to: Placed, share: number): [Placed, Placed] => {
  const thick = (end: Placed): Placed => ({ ...end, height: Math.max(1.2, end.height * share) });
  return [thick(from), thick(to)];
};

function bandShape({ x: x1, y: y1, height: h1 }: Placed, { x: x2, y: y2, height: h2 }: Placed): string {
  const middle = (x1 + x2) / 2;
  return `M${x1},${y1}C${middle},${y1} ${middle},${y2} ${x2},${y2}V${y2 + h2}`
    + `C${middle},${y2 + h2} ${middle},${y1 + h1} ${x1},${y1 + h1}Z`;
}

/** The same as a list for each step; a page that is pressed is pinned, and has its details below the list. */
function FlowList({ flow, pinned, pin, details }: FlowChoice & { details: ComponentChildren }) {
  return (
    <ol class="flow-list">
      {flow.columns.map((column, i) => (
        <li key={i}>
          <h3>{t.step(i + 1)}</h3>
          <table class="bars">
            <tbody>
              {column.map((node) => (
                <tr key={String(node.page)} class={node === pinned ? "chosen" : undefined}>
                  <th scope="row">
                    <span class="bar" style={{ width: `${(100 * node.sessions) / flow.sessions}%` }} />
                    <button type="button" class="row-link" aria-pressed={node === pinned} onClick={() => pin(node === pinned ? null : node)}>{nodeName(node)}</button>
                  </th>
                  <td class="number quiet">{node.left > 0 && t.leftHere(formatNumber(node.left))}</td>
                  <td class="number">{formatNumber(node.sessions)}</td>
                  <td class="number quiet">{formatPercent((100 * node.sessions) / flow.sessions)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {pinned?.column === i && details}
        </li>
      ))}
    </ol>
  );
}
