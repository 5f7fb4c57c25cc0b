// A table of rows: sortable columns, pages, a row header.
import type { ComponentChildren } from "preact";
import { useOpened } from "./opened";
import { texts } from "../texts";

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
  if (!columns.some(isExtra)) return table;
  return (
    <>
      {table}
      <button type="button" class={`quiet-button show-all ${columns.some(({ extra }) => extra === "wide") ? "wide" : ""}`} aria-pressed={all} onClick={() => setAll(!all)}>
        {all ? texts.table.fewColumns : texts.table.allColumns}
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
      {column.label}{active && <span aria-hidden="true">{sort.direction === "asc" ? " ↑" : " ↓"}</span>}
    </button>
  );
}

export function Pages({ page, pages, go }: { page: number; pages: number; go: (page: number) => void }) {
  if (pages <= 1) return null;
  const t = texts.breakdowns;
  return (
    <nav class="pages" aria-label={t.page(page, pages)}>
      <button type="button" class="button" disabled={page <= 1} onClick={() => go(page - 1)}>{t.previousPage}</button>
      <span>{t.page(page, pages)}</span>
      <button type="button" class="button" disabled={page >= pages} onClick={() => go(page + 1)}>{t.nextPage}</button>
    </nav>
  );
}
