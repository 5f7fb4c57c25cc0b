// The change of a number since the compared time range.
import { formatNumber, formatPercent } from "../format";
import { texts } from "../texts";

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
