// A share in a table: its percentage, and a small bar beside it, whose track is all.
import type { ComponentChildren } from "preact";
import { formatPercent } from "../state/format";

export function ShareCell({ percent, title, children }: {
  percent: number;
  title?: string;
  children?: ComponentChildren;
}) {
  return (
    <span class="share-cell" title={title}>
      <span class="share-text">{formatPercent(percent, 2)}</span>
      <span class="mini-bar">{percent > 0 && <span style={{ width: `${percent}%` }} />}</span>
      {children}
    </span>
  );
}
