// The change of a number since the compared time range.
import { formatPercent } from "../format";
import { texts } from "../texts";

export function Change({ percent, lessIsBetter }: { percent: number | null | undefined; lessIsBetter?: boolean }) {
  if (percent === null || percent === undefined) return <span class="change" title={texts.chart.nothingBefore}>–</span>;
  const kind = percent === 0 ? "" : percent > 0 !== Boolean(lessIsBetter) ? "better" : "worse";
  const sign = percent > 0 ? "+" : percent < 0 ? "−" : "±";
  return <span class={`change ${kind}`}>{sign}{formatPercent(Math.abs(percent), Math.abs(percent) < 10 ? 1 : 0)}</span>;
}
