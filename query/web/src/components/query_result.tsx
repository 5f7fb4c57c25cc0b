// Rows of a custom query as a table, a line over time, or bars.
import { useMemo } from "preact/hooks";
import { formatNumber } from "../format";
import { aliasOf, columnOf, DATE, type Exploration } from "../state/exploration";
import { texts } from "../texts";
import { BarList } from "./bar_list";
import { type Column, DataTable } from "./data_table";
import { type Series, SeriesChart } from "./series_chart";
import { Empty } from "./states";

type Row = Record<string, unknown>;
export const SHAPES = ["table", "line", "bar"] as const;
export type Shape = (typeof SHAPES)[number];
const t = texts.explore;

export function QueryResult({ exploration, rows, partial, shape }: {
  exploration: Exploration;
  rows: Row[];
  partial: string | null;
  shape: Shape;
}) {
  if (shape === "line") return <Line exploration={exploration} rows={rows} partial={partial} />;
  if (shape === "bar") return <Bars exploration={exploration} rows={rows} />;
  const groups = exploration.groups.map(columnOf);
  const columns = [...groups, ...exploration.selects.map(aliasOf)];
  return (
    <DataTable label={t.result} rows={rows} columns={columns.map((name, i): Column<Row> => ({
      key: name, label: name, number: i >= groups.length, render: (row) => shown(row[name]),
    }))} />
  );
}

function Line({ exploration, rows, partial }: { exploration: Exploration; rows: Row[]; partial: string | null }) {
  const [group, more] = exploration.groups;
  const value = aliasOf(exploration.selects[0]!);
  const series = useMemo<Series>(() => ({
    labels: rows.map((row) => String(row[DATE])),
    values: rows.map((row) => (row[value] as number | null) ?? null),
    partial, granularity: (group ?? "").replace("time:", ""), name: value, format: (number) => formatNumber(Math.round(number * 100) / 100),
  }), [rows, partial, value, group]);
  if (!group || columnOf(group) !== DATE || more) return <Empty text={t.needsTime} />;
  return <SeriesChart series={series} />;
}

function Bars({ exploration, rows }: { exploration: Exploration; rows: Row[] }) {
  const value = aliasOf(exploration.selects[0]!);
  const names = exploration.groups.map(columnOf);
  if (!names.length) return <Empty text={t.needsGroup} />;
  return (
    <BarList nameLabel={names.join(", ")} valueLabel={value} bars={rows.map((row, i) => ({
      key: String(i), name: names.map((name) => shown(row[name])).join(" · "), value: Number(row[value] ?? 0),
    }))} />
  );
}

const shown = (value: unknown): string =>
  value === null || value === undefined ? "–" : typeof value === "number" ? formatNumber(value) : String(value);
