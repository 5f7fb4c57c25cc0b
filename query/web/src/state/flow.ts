// Page paths of visits as columns of pages, the bands between them, and where visits end.
export interface CountedPath {
  pages: string[];
  sessions: number;
}

export interface FlowNode {
  /** Position of the column, from 0. */
  column: number;
  /** null for all pages that have no node of their own. */
  page: string | null;
  /** How many pages it stands for. */
  pages: number;
  sessions: number;
  /** Sessions that ended here. */
  left: number;
}

export interface FlowBand {
  from: FlowNode;
  to: FlowNode;
  sessions: number;
}

export interface Flow {
  columns: FlowNode[][];
  bands: FlowBand[];
  /** The nodes of each path, with its sessions. */
  paths: { nodes: FlowNode[]; sessions: number; ended: boolean }[];
  sessions: number;
}

/** The parts of a flow that the paths through one node have, by their sessions. */
export interface Traced {
  nodes: Map<FlowNode, number>;
  bands: Map<FlowBand, number>;
  /** Of the nodes where they ended. */
  left: Map<FlowNode, number>;
}

const MOST_NODES = 6;
const ARROW = " → ";

export const pagesOf = (name: string): string[] => name.split(ARROW);

/** `/blog/*` of a page in a folder; a page that is in none stays. */
export const folderOf = (page: string): string => page.replace(/^(\/[^/]+\/).+$/, "$1*");

export interface FlowOptions {
  /** The number of columns. */
  steps: number;
  /** Whether all paths end with one page: they end together in the last column. */
  toEnd: boolean;
  /** Whether a path that has fewer pages than there are columns is of a visit that ended. */
  ends: boolean;
}

export function flowOf(paths: CountedPath[], { steps, toEnd, ends }: FlowOptions): Flow {
  const offset = ({ pages }: CountedPath): number => (toEnd ? steps - pages.length : 0);
  const counts = Array.from({ length: steps }, () => new Map<string, number>());
  for (const path of paths) path.pages.forEach((page, i) => add(counts[i + offset(path)]!, page, path.sessions));
  const columns = counts.map(nodesOf);
  const known = columns.map((column) => new Map(column.map((node) => [node.page, node])));
  const nodeAt = (at: number, page: string) => known[at]!.get(page) ?? known[at]!.get(null)!;
  const bands = new Map<string, FlowBand>();
  const drawn = paths.map((path) => {
    const nodes = path.pages.map((page, i) => nodeAt(i + offset(path), page));
    nodes.slice(1).forEach((to, i) => {
      const band = bandOf(bands, nodes[i]!, to);
      band.sessions += path.sessions;
    });
    const ended = ends && nodes.length < steps;
    if (ended) nodes.at(-1)!.left += path.sessions;
    return { nodes, sessions: path.sessions, ended };
  });
  return { columns, bands: [...bands.values()], paths: drawn, sessions: paths.reduce((sum, { sessions }) => sum + sessions, 0) };
}

/** What the paths through a node pass, before and after it. */
export function traced(flow: Flow, node: FlowNode): Traced {
  const [nodes, bands, left] = [new Map<FlowNode, number>(), new Map<FlowBand, number>(), new Map<FlowNode, number>()];
  const known = new Map(flow.bands.map((band) => [keyOf(band.from, band.to), band]));
  for (const path of flow.paths.filter((each) => each.nodes.includes(node))) {
    path.nodes.forEach((each, i) => {
      add(nodes, each, path.sessions);
      if (i) add(bands, known.get(keyOf(path.nodes[i - 1]!, each))!, path.sessions);
    });
    if (path.ended) add(left, path.nodes.at(-1)!, path.sessions);
  }
  return { nodes, bands, left };
}

/** In the address: the column, from 1, and the page; an empty page for the others. */
export const formatNode = ({ column, page }: FlowNode): string => `${column + 1}:${page ?? ""}`;

export function findNode({ columns }: Flow, text: string): FlowNode | undefined {
  const [, column = "", page = ""] = /^(\d+):(.*)$/.exec(text) ?? [];
  return columns[Number(column) - 1]?.find((node) => (node.page ?? "") === page);
}

const keyOf = (from: FlowNode, to: FlowNode): string => JSON.stringify([from.column, from.page, to.page]);

function bandOf(bands: Map<string, FlowBand>, from: FlowNode, to: FlowNode): FlowBand {
  const key = keyOf(from, to);
  const band = bands.get(key) ?? { from, to, sessions: 0 };
  bands.set(key, band);
  return band;
}

/** The most frequent pages of a column, and one node for all others. */
function nodesOf(counts: Map<string, number>, column: number): FlowNode[] {
  const all = [...counts].toSorted(([a, n], [b, m]) => m - n || a.localeCompare(b));
  const few = all.length <= MOST_NODES + 1 ? all : all.slice(0, MOST_NODES);
  const others = all.slice(few.length);
  const rest = others.reduce((sum, [, sessions]) => sum + sessions, 0);
  const nodes: FlowNode[] = few.map(([page, sessions]) => ({ column, page, pages: 1, sessions, left: 0 }));
  return rest ? [...nodes, { column, page: null, pages: others.length, sessions: rest, left: 0 }] : nodes;
}

function add<Key>(counts: Map<Key, number>, key: Key, more: number): void {
  counts.set(key, (counts.get(key) ?? 0) + more);
}
