// The change of a number since the compared time range.
import type { ComparedRow } from "../api/ask";
import { formatNumber, formatPercent } from "../format";
import { texts } from "../texts";
import type { Column } from "./data_table";

/** From ten times on the factor says more than a percentage. */
const MOST_PERCENT = 1000;

export function Change({ percent, lessIsBetter }: { percent: number | null | undefined; lessIsBetter?: boolean }) {
  if (percent === null || percent === undefined) return <span class="change" title={texts.chart.nothingBefore}>–</span>;
  const kind = percent === 0 ? "" : percent > 0 !== Boolean(lessIsBetter) ? "better" : "worse";
  const sign = percent > 0 ? "+" : percent < 0 ? "−" : "±";
  const exact = `${sign}${formatPercent(Math.abs(percent), Math.abs(percent) < 10 ? 1 : 0)}`;
  if (percent < MOST_PERCENT) return <span class={`change ${kind}`}>{exact}</span>;
  return <span class={`change ${kind}`} title={exact}>{texts.breakdowns.times(formatNumber(Math.round(1 + percent / 100)))}</span>;
}

/** A column with the change of one field of each row, which are in the order of `compared`; none without a comparison. */
export function changeColumn<One>(field: string, compared?: ComparedRow[], lessIsBetter = false): Column<One>[] {
  if (!compared) return [];
  return [{
    key: "change", label: texts.breakdowns.change, number: true,
    render: (_, i) => (compared[i]?.previous
      ? <Change percent={compared[i].changePercent[field]} lessIsBetter={lessIsBetter} />
      : <span class={`change ${lessIsBetter ? "worse" : ""}`}>{texts.breakdowns.isNew}</span>),
  }];
}
