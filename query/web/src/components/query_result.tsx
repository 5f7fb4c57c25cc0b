// Rows of a custom query as a table, as lines over time, or as bars, in the words of the page.
import { useMemo } from "preact/hooks";
import { timezone } from "../api/session";
import { isolate } from "../isolate";
import { address } from "../state/address";
import { cellText, columnText, valueText } from "../state/columns";
import { aliasOf, columnOf, type Exploration, TIME } from "../state/exploration";
import { formatNumber } from "../state/format";
import { hasLines, labelsOf, linesOf } from "../state/lines";
import { daysOf, today } from "../state/period";
import { moreTexts } from "../texts.more";
import { type Bar, BarList, mostOf } from "./bar_list";
import { type Column, DataTable } from "./data_table";
import { countFormat, MOST_LINES, type Series, SeriesChart } from "./series_chart";
import { Empty } from "./states";

type Row = Record<string, unknown>;
export const SHAPES = ["table", "line", "bar"] as const;
export type Shape = (typeof SHAPES)[number];
const t = moreTexts.explore;

interface Result {
  exploration: Exploration;
  rows: Row[];
  partial: string | null;
}

/** How a result is drawn unless another shape is chosen. */
export const usualShape = (exploration: Exploration): Shape =>
  (hasLines(exploration) ? "line" : exploration.groups.length === 1 && exploration.selects.length === 1 ? "bar" : "table");

export function QueryResult({ shape, ...result }: Result & { shape: Shape }) {
  if (shape === "line") return <OverTime {...result} />;
  if (shape === "bar") return <Bars {...result} />;
  const { exploration: { groups, selects }, rows } = result;
  const columns: Column<Row>[] = [
    ...groups.map((group) => ({ key: group, label: columnText(group), render: (row: Row) => <Cell group={group} value={row[columnOf(group)]} /> })),
    ...selects.map((select) => {
      const alias = aliasOf(select);
      return { key: alias, label: valueText(select), number: true, render: (row: Row) => cellText("", row[alias], timezone.value) };
    }),
  ];
  return <DataTable label={t.result} rows={rows} columns={columns} />;
}

/** The words of a value, with what is stored when that differs. */
function Cell({ group, value }: { group: string; value: unknown }) {
  const text = cellText(group, value, timezone.value);
  const stored = typeof value === "string" && !group.startsWith(TIME) && text !== value && !text.includes(":") ? value : null;
  return <>{text}{stored !== null && <> <small>{stored}</small></>}</>;
}

function OverTime({ exploration, rows, partial }: Result) {
  const { period } = address.value;
  const [first = "", ...others] = exploration.groups;
  const { selects } = exploration;
  const granularity = first.replace(TIME, "");
  const name = selects.map(valueText).join(", ");
  const { labels, lines } = useMemo(() => {
    if (!hasLines(exploration)) return { labels: [], lines: [] };
    const labels = labelsOf(rows, granularity, daysOf(period, timezone.value), today(timezone.value));
    return { labels, lines: linesOf(rows, exploration, labels, timezone.value) };
  }, [rows, exploration, period, timezone.value]);
  const drawn = useMemo(() => lines.slice(0, MOST_LINES), [lines]);
  const single = !others.length && selects.length === 1;
  const series = useMemo<Series>(() => {
    const areCounts = drawn.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)));
    return {
      labels, ...(single ? { values: drawn[0]?.values ?? [] } : { lines: drawn }), partial, granularity, name, hasAverages: true,
      format: areCounts ? countFormat : (number) => formatNumber(Math.round(number * 100) / 100),
    };
  }, [drawn, partial, granularity, name, single]);
  if (!hasLines(exploration)) return <Empty text={t.needsTime} />;
  return (
    <>
      {lines.length > drawn.length && <p class="quiet">{t.most(drawn.length, formatNumber(lines.length))}</p>}
      <SeriesChart series={series} />
    </>
  );
}

/** With several groups a list for each value of the first, all on one scale. */
function Bars({ exploration: { groups, selects }, rows }: Result) {
  if (!groups.length) return <Empty text={t.needsGroup} />;
  const outer = groups.length > 1 ? groups[0] : undefined;
  const inner = outer ? groups.slice(1) : groups;
  const nameOf = (row: Row, names: string[]) => names.map((group) => cellText(group, row[columnOf(group)], timezone.value)).join(" · ");
  return (
    <>
      {selects.map((select) => {
        const alias = aliasOf(select);
        const bars = rows.map((row, i) => ({ key: String(i), name: nameOf(row, inner), value: Number(row[alias] ?? 0) }));
        const lists = new Map<string, Bar[]>();
        for (const bar of bars) {
          const name = outer ? nameOf(rows[Number(bar.key)]!, [outer]) : "";
          lists.set(name, [...(lists.get(name) ?? []), bar]);
        }
        return [...lists].map(([name, list]) => (
          <BarList key={`${alias} ${name}`} bars={list} most={mostOf(bars)} valueLabel={valueText(select)}
            nameLabel={outer ? `${columnText(outer)}: ${isolate(name)} · ${inner.map(columnText).join(", ")}` : inner.map(columnText).join(", ")} />
        ));
      })}
    </>
  );
}
