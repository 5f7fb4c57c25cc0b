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
  /** Whether it stands for several pages. */
  isRest?: boolean;
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
const partOf = (node: FlowNode, sessions: number): Part => ({ name: nodeName(node), sessions, isRest: node.page === null });
const edge = (name: string, sessions: number): Part[] => (sessions > 0 ? [{ name, sessions }] : []);

function around({ bands }: Flow, node: FlowNode): [Parts, Parts] {
  const came = bands.filter(({ to }) => to === node).map(({ from, sessions }) => partOf(from, sessions));
  const went = bands.filter(({ from }) => from === node).map(({ to, sessions }) => partOf(to, sessions));
  const beyond = node.sessions - sum(went) - node.left;
  return [
    { title: t.cameFrom, pages: came, edges: edge(t.begun, node.sessions - sum(came)) },
    { title: t.wentOn, pages: went, edges: [...edge(t.left, node.left), ...edge(t.beyond, beyond)] },
  ];
}

/** Where visits begin, and after which pages they end. */
function ends({ columns, paths }: Flow): [Parts, Parts] {
  const left = new Map<string | null, number>();
  for (const { page, left: sessions } of columns.flat()) if (sessions) left.set(page, (left.get(page) ?? 0) + sessions);
  const begun = new Map<string | null, number>();
  for (const { nodes: [first], sessions } of paths) begun.set(first!.page, (begun.get(first!.page) ?? 0) + sessions);
  const parts = (counts: Map<string | null, number>): Part[] => [...counts].map(([page, sessions]) => ({ name: page ?? t.otherPages, sessions, isRest: page === null }));
  return [{ title: t.begins, pages: parts(begun) }, { title: t.leaves, pages: parts(left) }];
}

/** The most frequent pages by name; all others, those that the picture does not name included, are one row. */
function PartsTable({ title, pages, edges = [], whole }: Parts & { whole: number }) {
  const named = pages.filter(({ isRest }) => !isRest).toSorted((a, b) => b.sessions - a.sessions);
  const first = pages.length > MOST || named.length < pages.length ? named.slice(0, MOST - 1) : named;
  const rest = sum(pages) - sum(first);
  const shown = rest > 0 ? [...first, { name: t.otherPages, sessions: rest }] : first;
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
