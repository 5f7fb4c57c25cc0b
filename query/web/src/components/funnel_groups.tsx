// A funnel by groups as a table: a row for each group, a column for each step with its share and a small bar.
import { address, goOwn } from "../state/address";
import { shownValue } from "../state/filter_values";
import { formatNumber, formatPercent } from "../state/format";
import { moreTexts } from "../texts.more";
import type { Row } from "../types";
import { type Column, DataTable, parseSort } from "./data_table";
import { fieldName } from "./filter_text";
import type { ShownVisitors } from "./funnel_chart";
import { ShareCell } from "./share_cell";
import { VisitorsButton } from "./visitors_button";

const t = moreTexts.funnels;
/** A smaller group is not called the best or the worst: its share says little. */
const LEAST_JUDGED = 30;

export interface FunnelGroup {
  /** In the address. */
  key: string;
  /** How the API names it. */
  query: { breakdown: string | null } | { other: true };
  /** A row for each step. */
  rows: Row<"funnel">[];
}

/** In the order of the answer: the largest first, all others last. */
export function groupsOf(rows: Row<"funnel">[]): FunnelGroup[] {
  const groups = new Map<string, FunnelGroup>();
  for (const row of rows) {
    const value = row.breakdown ?? null;
    const key = row.other ? "*" : value === null ? "-" : `=${value}`;
    const group = groups.get(key) ?? { key, query: row.other ? { other: true } : { breakdown: value }, rows: [] };
    group.rows.push(row);
    groups.set(key, group);
  }
  return [...groups.values()];
}

export function groupName(field: string, { query }: FunnelGroup): string {
  if ("other" in query) return t.other;
  if (query.breakdown === null) return t.absent;
  return field === "visitor.is_new" ? (t.isNew[query.breakdown] ?? query.breakdown) : shownValue(field, query.breakdown);
}

const enteredOf = ({ rows }: FunnelGroup): number => rows[0]!.visitors;
const rateOf = ({ rows }: FunnelGroup): number => rows.at(-1)!.conversion_rate;

/** The groups with the highest and the lowest share of completions, where these differ. */
function extremesOf(groups: FunnelGroup[]): { best?: FunnelGroup; worst?: FunnelGroup } {
  const judged = groups.filter((group) => !("other" in group.query) && enteredOf(group) >= LEAST_JUDGED).toSorted((a, b) => rateOf(b) - rateOf(a));
  const [best, worst] = [judged[0], judged.at(-1)];
  return best && worst && rateOf(best) > rateOf(worst) ? { best, worst } : {};
}

const ENTERED = "entered";
const COMPLETED = "completed";
const stepKey = (step: number): string => `step_${step}`;

/** The number of a group that a column shows. */
function valueOf({ rows }: FunnelGroup, field: string): number {
  if (field === ENTERED) return rows[0]!.visitors;
  if (field === COMPLETED) return rows.at(-1)!.visitors;
  return rows.find(({ step }) => stepKey(step) === field)?.conversion_rate ?? 0;
}

export function FunnelGroups({ groups, whole, breakdown, show }: {
  groups: FunnelGroup[];
  /** The rows of all groups together. */
  whole: Row<"funnel">[];
  breakdown: string;
  show: (shown: ShownVisitors) => void;
}) {
  const { own } = address.value;
  const sort = parseSort(own.sort);
  const sign = sort?.direction === "asc" ? 1 : -1;
  const sorted = sort ? groups.toSorted((a, b) => sign * (valueOf(a, sort.field) - valueOf(b, sort.field))) : groups;
  const { best, worst } = extremesOf(groups);
  const steps = groups[0]!.rows;
  const visitors = (group: FunnelGroup, row: Row<"funnel">, text: string, label: string) => (
    <VisitorsButton class="link-button" label={label}
      open={() => show({ step: row.step, outcome: "completed", group: group.query, title: `${groupName(breakdown, group)}: ${t.completed(row.name)}` })}>{text}</VisitorsButton>
  );
  const count = (key: string, label: string, at: number): Column<FunnelGroup> => ({
    key, label, number: true, sortable: true, render: (group) => {
      const row = group.rows.at(at)!;
      return visitors(group, row, formatNumber(row.visitors), `${groupName(breakdown, group)}, ${label}: ${formatNumber(row.visitors)}`);
    },
  });
  const columns: Column<FunnelGroup>[] = [
    { key: "group", label: t.group, className: "funnel-group", render: (group) => (
      <button type="button" class="row-link" aria-pressed={group.key === own.group} title={t.showGroup(groupName(breakdown, group))}
        onClick={() => goOwn({ group: group.key === own.group ? "" : group.key })}>{groupName(breakdown, group)}</button>
    ) },
    count(ENTERED, `1. ${steps[0]!.name}`, 0),
    ...steps.slice(1).map((step, i): Column<FunnelGroup> => {
      const key = stepKey(step.step);
      const isLast = step === steps.at(-1);
      return { key, label: `${step.step}. ${step.name}`, className: "share", sortable: true, render: (group) => {
        const row = group.rows[i + 1]!;
        return (
          <ShareCell percent={row.conversion_rate} title={t.shareOf(formatNumber(row.visitors), formatNumber(enteredOf(group)))}>
            {isLast && group === best && <small class="best" title={t.judged(LEAST_JUDGED)}>{t.best}</small>}
            {isLast && group === worst && <small class="worst" title={t.judged(LEAST_JUDGED)}>{t.worst}</small>}
          </ShareCell>
        );
      } };
    }),
    count(COMPLETED, t.completedCount, -1),
  ];
  const totals = Object.fromEntries([
    ["group", t.allTogether], [ENTERED, formatNumber(whole[0]?.visitors ?? 0)], [COMPLETED, formatNumber(whole.at(-1)?.visitors ?? 0)],
    ...whole.slice(1).map((row) => [
      stepKey(row.step), <span class="share-cell"><span class="share-text">{formatPercent(row.conversion_rate, 2)}</span></span>,
    ] as const),
  ]);
  return (
    <DataTable label={t.byGroup(fieldName(breakdown))} className="funnel-groups" columns={columns} rows={sorted} rowKey={({ key }) => key} totals={whole.length ? totals : undefined}
      sort={sort ?? { field: ENTERED, direction: "desc" }} onSort={({ field, direction }) => goOwn({ sort: `${field}:${direction}` }, { replace: true })} />
  );
}
