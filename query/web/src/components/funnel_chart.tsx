// A funnel as columns, one for each step, or as rows on a phone: how many reached it, and how many left after it.
import { formatNumber, formatPercent, formatSpan } from "../state/format";
import type { FunnelOptions } from "../state/funnel";
import { moreTexts } from "../texts.more";
import type { Row } from "../types";
import { VisitorsButton } from "./visitors_button";

const t = moreTexts.funnels;

/** Whose list is asked for: of those who reached a step, or left before it. */
export interface ShownVisitors {
  step: number;
  outcome: "completed" | "dropped";
  /** The group, as the API names it. */
  group?: Record<string, unknown>;
  title: string;
}

export function FunnelChart({ rows, group, heading, by, show }: {
  rows: Row<"funnel">[];
  /** The group that they are of, as the API names it; without one they are of all. */
  group?: Record<string, unknown>;
  heading?: string;
  by: FunnelOptions["by"];
  show: (shown: ShownVisitors) => void;
}) {
  const [first, last] = [rows[0]!, rows.at(-1)!];
  const counted = by === "session" ? t.visits : t.visitors;
  const most = Math.max(...rows.map(({ dropped }) => dropped));
  return (
    <>
      {heading && <h3>{heading}</h3>}
      <p class="funnel-total">{first.visitors ? t.total(formatPercent(last.conversion_rate, 2), formatNumber(last.visitors), formatNumber(first.visitors)) : t.nobody}</p>
      <ol class="funnel">
        {rows.map((row, i) => {
          const next = rows[i + 1];
          return (
            <li key={row.step} style={{ "--share": `${row.conversion_rate}%`, "--next": `${next?.conversion_rate ?? 0}%` }}>
              <span class="funnel-name" title={row.name}><span class="step-number">{row.step}</span>{row.name}</span>
              <span class="funnel-track">
                {row.visitors > 0 && <span class="funnel-bar" />}
                {row.visitors > 0 && next && <span class="funnel-slope" />}
              </span>
              <span class="funnel-numbers">
                <VisitorsButton class="row-link reached" open={() => show({ step: row.step, outcome: "completed", group, title: t.completed(row.name) })}>
                  {counted(row.visitors, formatNumber(row.visitors))}
                </VisitorsButton>
                <span>{t.ofAll(formatPercent(row.conversion_rate, 2))}</span>
                {row.step > 2 && <span>{t.ofBefore(formatPercent(row.step_rate, 2))}</span>}
                {row.median_seconds !== null && row.step > 1 && <span class="quiet">{t.median(formatSpan(row.median_seconds))}</span>}
                {next && (
                  <VisitorsButton class="row-link dropped" disabled={!next.dropped}
                    title={next.dropped > 0 && next.dropped === most ? t.mostLeft : undefined}
                    open={() => show({ step: next.step, outcome: "dropped", group, title: t.droppedBefore(next.name) })}>
                    {t.dropped(formatNumber(next.dropped), formatPercent(next.drop_off_rate, 2))}
                  </VisitorsButton>
                )}
              </span>
            </li>
          );
        })}
      </ol>
    </>
  );
}
