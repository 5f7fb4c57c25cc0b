// What is known of one page of the flow: from which pages visits came to it, and where they went on.
import type { ComponentChildren } from "preact";
import type { Flow, FlowNode } from "../state/flow";
import { formatNumber, formatPercent } from "../state/format";
import { moreTexts } from "../texts.more";
import { nodeName } from "./flow_chart";

const MOST = 6;
const t = moreTexts.paths;

interface Part {
  name: string;
  sessions: number;
}

interface Parts {
  title: string;
  pages: Part[];
  /** What is no page: the begin or the end of visits. */
  edges?: Part[];
}

/** Of all visits without a node. */
export function FlowDetails({ flow, node, actions }: { flow: Flow; node: FlowNode | null; actions?: ComponentChildren }) {
  const whole = node?.sessions ?? flow.sessions;
  const [before, after] = node ? around(flow, node) : ends(flow);
  return (
    <div class="flow-details" aria-live="polite">
      <header>
        <h3>{node ? nodeName(node) : t.all}</h3>
        <p class="quiet">{node ? t.atStep(node.column + 1, formatNumber(whole), formatPercent((100 * whole) / flow.sessions)) : t.hint}</p>
        {actions && <span class="flow-actions">{actions}</span>}
      </header>
      <PartsTable {...before} whole={whole} />
      <PartsTable {...after} whole={whole} />
    </div>
  );
}

const sum = (parts: Part[]): number => parts.reduce((all, { sessions }) => all + sessions, 0);
const edge = (name: string, sessions: number): Part[] => (sessions > 0 ? [{ name, sessions }] : []);

function around({ bands }: Flow, node: FlowNode): [Parts, Parts] {
  const came = bands.filter(({ to }) => to === node).map(({ from, sessions }) => ({ name: nodeName(from), sessions }));
  const went = bands.filter(({ from }) => from === node).map(({ to, sessions }) => ({ name: nodeName(to), sessions }));
  const beyond = node.sessions - sum(went) - node.left;
  return [
    { title: t.cameFrom, pages: came, edges: edge(t.begun, node.sessions - sum(came)) },
    { title: t.wentOn, pages: went, edges: [...edge(t.left, node.left), ...edge(t.beyond, beyond)] },
  ];
}

/** Where visits begin, and after which pages they end. */
function ends({ columns, paths }: Flow): [Parts, Parts] {
  const left = new Map<string, number>();
  for (const { page, left: sessions } of columns.flat()) {
    const name = page ?? t.otherPages;
    if (sessions) left.set(name, (left.get(name) ?? 0) + sessions);
  }
  const begun = new Map<string, number>();
  for (const { nodes: [first], sessions } of paths) begun.set(nodeName(first!), (begun.get(nodeName(first!)) ?? 0) + sessions);
  const parts = (counts: Map<string, number>): Part[] => [...counts].map(([name, sessions]) => ({ name, sessions }));
  return [{ title: t.begins, pages: parts(begun) }, { title: t.leaves, pages: parts(left) }];
}

function PartsTable({ title, pages, edges = [], whole }: Parts & { whole: number }) {
  const sorted = pages.toSorted((a, b) => b.sessions - a.sessions);
  const rest = sorted.length > MOST ? sorted.slice(MOST - 1) : [];
  const others = rest.length ? [{ name: t.others(rest.length, formatNumber(rest.length)), sessions: sum(rest) }] : [];
  const shown = [...sorted.slice(0, sorted.length - rest.length), ...others];
  return (
    <table class="bars">
      <thead><tr><th scope="col" colSpan={3}>{title}</th></tr></thead>
      <tbody>
        {[...shown, ...edges].map(({ name, sessions }, i) => (
          <tr key={i} class={i < shown.length ? undefined : "edge"}>
            <th scope="row"><span class="bar" style={{ width: `${(100 * sessions) / whole}%` }} /><span class="row-link" title={name}>{name}</span></th>
            <td class="number">{formatNumber(sessions)}</td>
            <td class="number quiet">{formatPercent((100 * sessions) / whole)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
