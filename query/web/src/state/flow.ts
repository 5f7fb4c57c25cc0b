// Page paths of visits as columns of pages and the bands between them.
export interface CountedPath {
  pages: string[];
  sessions: number;
}

export interface FlowNode {
  /** null for all pages that have no node of their own. */
  page: string | null;
  sessions: number;
  /** Sessions that viewed another page after it. */
  onward: number;
}

export interface FlowBand {
  from: FlowNode;
  to: FlowNode;
  sessions: number;
}

export interface Flow {
  columns: FlowNode[][];
  /** The bands after each column. */
  bands: FlowBand[][];
}

const MOST_NODES = 7;
const ARROW = " → ";

export const pagesOf = (name: string): string[] => name.split(ARROW);

/** The position of a path's first page: paths to a page end together in the last column. */
const offsetOf = (path: CountedPath, steps: number, toEnd: boolean): number => (toEnd ? steps - path.pages.length : 0);

export function flowOf(paths: CountedPath[], steps: number, toEnd: boolean): Flow {
  const counts = Array.from({ length: steps }, () => new Map<string, number>());
  for (const path of paths) {
    path.pages.forEach((page, i) => add(counts[i + offsetOf(path, steps, toEnd)]!, page, path.sessions));
  }
  const columns = counts.map(nodesOf);
  const nodes = columns.map((column) => new Map(column.map((node) => [node.page, node])));
  const nodeAt = (at: number, page: string) => nodes[at]!.get(page) ?? nodes[at]!.get(null)!;
  const bands = counts.slice(1).map(() => new Map<FlowNode, Map<FlowNode, FlowBand>>());
  for (const path of paths) {
    const offset = offsetOf(path, steps, toEnd);
    for (let i = 0; i + 1 < path.pages.length; i++) {
      const [from, to] = [nodeAt(i + offset, path.pages[i]!), nodeAt(i + offset + 1, path.pages[i + 1]!)];
      from.onward += path.sessions;
      const ofNode = bands[i + offset]!.get(from) ?? new Map<FlowNode, FlowBand>();
      bands[i + offset]!.set(from, ofNode);
      const band = ofNode.get(to) ?? { from, to, sessions: 0 };
      band.sessions += path.sessions;
      ofNode.set(to, band);
    }
  }
  return { columns, bands: bands.map((each) => [...each.values()].flatMap((ofNode) => [...ofNode.values()])) };
}

/** The most frequent pages of a column, and one node for all others. */
function nodesOf(counts: Map<string, number>): FlowNode[] {
  const all = [...counts].toSorted(([a, n], [b, m]) => m - n || a.localeCompare(b));
  const few = all.length <= MOST_NODES + 1 ? all : all.slice(0, MOST_NODES);
  const rest = all.slice(few.length).reduce((sum, [, sessions]) => sum + sessions, 0);
  const nodes: FlowNode[] = few.map(([page, sessions]) => ({ page, sessions, onward: 0 }));
  return rest ? [...nodes, { page: null, sessions: rest, onward: 0 }] : nodes;
}

function add(counts: Map<string, number>, page: string, sessions: number): void {
  counts.set(page, (counts.get(page) ?? 0) + sessions);
}
