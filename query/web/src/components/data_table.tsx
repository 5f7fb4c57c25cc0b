// A table of rows: sortable columns, pages, a row header.
import type { ComponentChildren } from "preact";
import { formatNumber } from "../state/format";
import { texts } from "../texts";
import { Icon } from "./icon";
import { useOpened } from "./opened";

export interface Column<One> {
  key: string;
  label: string;
  /** A second name, such as the API's. */
  hint?: string;
  /** `at` is the position of the row, from 0. */
  render: (row: One, at: number) => ComponentChildren;
  /** Numbers are aligned to the right. */
  number?: boolean;
  /** A bar under the number: its length, from 0 to 1. */
  bar?: (row: One) => number;
  sortable?: boolean;
  className?: string;
  /**
   * Left out on a phone, or already in a window that is not wide, until all columns are asked for; a column that the rows
   * are sorted by only if it is always left out.
   */
  extra?: boolean | "wide" | "always";
}

export interface Sort {
  field: string;
  direction: "asc" | "desc";
}

export const parseSort = (text: string | undefined): Sort | null => {
  const [field, direction] = (text ?? "").split(":");
  return field ? { field, direction: direction === "asc" ? "asc" : "desc" } : null;
};

export function DataTable<One>({ label, columns, rows, rowKey, sort, onSort, totals, className = "" }: {
  /** Read aloud as the caption. */
  label: string;
  columns: Column<One>[];
  rows: One[];
  rowKey?: (row: One, index: number) => string | number;
  sort?: Sort | null;
  onSort?: (sort: Sort) => void;
  /** What stands in the last row, by the key of its column. */
  totals?: Record<string, ComponentChildren>;
  className?: string;
}) {
  const [all, setAll] = useOpened(label);
  const isExtra = ({ key, extra }: Column<One>): boolean => extra === "always" || (Boolean(extra) && sort?.field !== key);
  const classOf = (column: Column<One>): string | undefined =>
    [column.number && "number", column.className, isExtra(column) && "extra", isExtra(column) && column.extra === "wide" && "wide"]
      .filter(Boolean).join(" ") || undefined;
  const table = (
    <div class={`table-frame ${all ? "all" : ""} ${className}`} tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.key} scope="col" class={classOf(column)}
                aria-sort={sort?.field === column.key ? (sort.direction === "asc" ? "ascending" : "descending") : undefined}>
                {column.sortable && onSort
                  ? <SortButton column={column} sort={sort ?? null} onSort={onSort} />
                  : column.label}
                {column.hint && <small class="hint">{column.hint}</small>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={rowKey ? rowKey(row, index) : index}>
              {columns.map((column, i) =>
                i === 0
                  ? <th key={column.key} scope="row" class={classOf(column)}>{column.render(row, index)}</th>
                  : (
                    <td key={column.key} class={classOf(column)}>
                      {column.render(row, index)}
                      {column.bar && <span class="cell-bar" aria-hidden="true"><span style={{ width: `${100 * Math.min(1, column.bar(row))}%` }} /></span>}
                    </td>
                  ))}
            </tr>
          ))}
        </tbody>
        {totals && (
          <tfoot>
            <tr>
              {columns.map((column, i) =>
                i === 0
                  ? <th key={column.key} scope="row" class={classOf(column)}>{totals[column.key]}</th>
                  : <td key={column.key} class={classOf(column)}>{totals[column.key]}</td>)}
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  );
  const extra = columns.filter(isExtra);
  const wide = extra.filter((column) => column.extra === "wide").length;
  if (!extra.length) return table;
  return (
    <>
      {table}
      <button type="button" class={`button show-all ${wide ? "wide" : ""}`} aria-pressed={all} onClick={() => setAll(!all)}>
        <Icon name="table" />
        {all ? texts.table.fewColumns : (
          <>
            <span class="phone-only">{texts.table.moreColumns(extra.length)}</span>
            <span class="of-wide">{texts.table.moreColumns(wide)}</span>
          </>
        )}
      </button>
    </>
  );
}

function SortButton<One>({ column, sort, onSort }: {
  column: Column<One>;
  sort: Sort | null;
  onSort: (sort: Sort) => void;
}) {
  const active = sort?.field === column.key;
  const direction = active && sort.direction === "desc" ? "asc" : "desc";
  return (
    <button type="button" class="sort" title={texts.table.sortBy(column.label)}
      onClick={() => onSort({ field: column.key, direction })}>
      {column.label}{active && <span aria-hidden="true">{sort.direction === "asc" ? "\u00a0↑" : "\u00a0↓"}</span>}
    </button>
  );
}

/** Buttons to the rows before and after those of a page; none where all are on it. */
export function Pages({ page, total, size, go }: { page: number; total: number; size: number; go: (page: number) => void }) {
  if (total <= size) return null;
  const t = texts.breakdowns;
  const rows = t.rows(formatNumber((page - 1) * size + 1), formatNumber(Math.min(total, page * size)), formatNumber(total));
  return (
    <nav class="pages" aria-label={rows}>
      <button type="button" class="button" disabled={page <= 1} onClick={() => go(page - 1)}>{t.previousPage}</button>
      <span>{rows}</span>
      <button type="button" class="button" disabled={page * size >= total} onClick={() => go(page + 1)}>{t.nextPage}</button>
    </nav>
  );
}
