// The change of a number since the compared time range.
import type { ComparedRow } from "../api/ask";
import type { ComparedData } from "../api/compared";
import { comparison } from "../state/address";
import { type FileColumn, PREVIOUS } from "../state/csv";
import { formatNumber, formatPercent } from "../state/format";
import { texts } from "../texts";
import type { Column } from "./data_table";

/** From ten times on the factor says more than a percentage. */
const MOST_PERCENT = 1000;
const t = texts.chart;
/** In place of a change from a time range without data, or with too little. */
const WITHOUT: Record<Exclude<ComparedData, "enough">, { text: string; hint: string }> = {
  none: { text: t.noneBefore, hint: t.nothingBefore },
  little: { text: t.began, hint: t.beganHint },
};

export function Change({ percent, points = false, before, lessIsBetter, was, hint = t.nothingBefore }: {
  percent: number | null | undefined;
  /** Whether `percent` is the difference of two percentages. */
  points?: boolean;
  /** What the compared time range holds; null until that is known. */
  before: ComparedData | null;
  lessIsBetter?: boolean;
  /** The number in the compared time range, as it is shown. */
  was?: string;
  /** Why there is no percentage, where there is none. */
  hint?: string;
}) {
  if (before === null) return <span class="change skeleton" aria-busy="true" />;
  if (before !== "enough") return <span class="change" title={WITHOUT[before].hint}>{WITHOUT[before].text}</span>;
  if (percent === null || percent === undefined) return <NoChange hint={hint} />;
  const digits = Math.abs(percent) < 10 ? 1 : 0;
  const shown = Number(percent.toFixed(digits));
  const kind = shown === 0 ? "" : shown > 0 !== Boolean(lessIsBetter) ? "better" : "worse";
  const sign = shown > 0 ? "+" : shown < 0 ? "−" : "±";
  const size = Math.abs(percent);
  const exact = `${sign}${points ? t.points(formatNumber(Number(size.toFixed(1)))) : formatPercent(size, digits)}`;
  const previous = was === undefined ? null : <small class="was quiet"> <span>{t.was(was)}</span><span class="short" aria-hidden="true">{was}</span></small>;
  if (points) return <span class={`change ${kind}`} title={t.pointsHint}>{exact}{previous}</span>;
  if (percent < MOST_PERCENT) return <span class={`change ${kind}`}>{exact}{previous}</span>;
  return <span class={`change ${kind}`} title={exact}>{texts.breakdowns.times(formatNumber(Math.round(1 + percent / 100)))}{previous}</span>;
}

const NoChange = ({ hint }: { hint: string }) => <span class="change" role="img" aria-label={hint} title={hint}>–</span>;

/** The change of a field of a row, which the compared time range may not have. */
export function RowChange({ field, compared, before, lessIsBetter }: {
  field: string;
  compared: ComparedRow | undefined;
  before: ComparedData | null;
  lessIsBetter?: boolean;
}) {
  if (before === "enough" && !compared?.previous) return <span class={`change ${lessIsBetter ? "worse" : ""}`} title={t.zeroHint}>{t.zeroBefore}</span>;
  return <Change percent={compared?.changePercent[field]} before={before} lessIsBetter={lessIsBetter} />;
}

/** A number of rows, and what it is called. */
type Field = [field: string, label: string];

/**
 * A column with the change of one field of each row, which are in the order of `compared`; none without a comparison.
 * Where the compared time range has too little data, its head says so.
 */
export function changeColumn<One>([field, label]: Field, compared: ComparedRow[] | undefined, before: ComparedData | null, lessIsBetter = false, extra = false): Column<One>[] {
  if (!compared) return [];
  const without = before && before !== "enough" ? WITHOUT[before] : null;
  return [{
    key: "change", label: texts.breakdowns.change, number: true, extra, hint: without?.text ?? label,
    render: (_, i) => (without
      ? <NoChange hint={without.hint} />
      : <RowChange field={field} compared={compared[i]} before={before} lessIsBetter={lessIsBetter} />),
  }];
}

/** The same for a file: the number before, and the change; none where a change would say nothing. */
export const changeFile = ([field, label]: Field, before: ComparedData | null): FileColumn[] =>
  comparison.value === "none" || before !== "enough" ? [] : [
    { field: `${PREVIOUS}${field}`, label: texts.download.before(label) },
    { field: `change_percent_${field}`, label: texts.download.percent(texts.download.change(label)) },
  ];
