// A share in a table: its percentage, and a small bar beside it, as long as the largest of the column at most.
import type { ComponentChildren } from "preact";
import { formatPercent } from "../state/format";

export function ShareCell({ percent, most, title, children }: {
  percent: number;
  /** The largest of the column. */
  most: number;
  title?: string;
  children?: ComponentChildren;
}) {
  return (
    <span class="share-cell" title={title}>
      <span class="share-text">{formatPercent(percent, 2)}</span>
      <span class="mini-bar">{percent > 0 && <span style={{ width: `${(100 * percent) / most}%` }} />}</span>
      {children}
    </span>
  );
}
