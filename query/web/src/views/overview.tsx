// Totals, the series of one of them, and breakdowns.
import type { Answer } from "../api/ask";
import { BreakdownCard } from "../components/breakdown_card";
import { Columns } from "../components/columns";
import { GoalsCard } from "../components/goals_card";
import { areImported } from "../components/imported";
import { LastEvent, useEventsEver } from "../components/last_event";
import { lazy } from "../components/lazy";
import { OnlineNow } from "../components/online_now";
import { TotalsCard, useTotalSeries } from "../components/totals_card";
import { address } from "../state/address";
import { GROUPS } from "../state/breakdowns";

const FirstSteps = lazy(() => import("../components/first_steps"));

export default function Overview() {
  const series = useTotalSeries();
  const ever = useEventsEver(isEmpty(series.loaded.value));
  if (ever?.received === false) return <FirstSteps />;
  return (
    <>
      {ever?.lastEventAt && <LastEvent at={ever.lastEventAt} />}
      <TotalsCard series={series} subtitle={<OnlineNow />} />
      <Columns>
        {[...GROUPS.map((group) => <BreakdownCard key={group.id} group={group} />), <GoalsCard key="goals" />]}
      </Columns>
    </>
  );
}

/** Whether nothing at all happened in the time range, by the website itself or by what was imported. */
const isEmpty = (series: Answer<"events_by_date"> | null): boolean =>
  series !== null && !address.value.filters.length && !areImported(series) && series.rows.every(({ pageviews, visitors }) => !pageviews && !visitors);
