// The goals that most visitors reached, on the overview of a website that has some.
import { isShared } from "../api/session";
import { useAnswer } from "../api/use";
import { addressWith, follow } from "../state/address";
import { formatPercent } from "../state/format";
import { texts } from "../texts";
import { BarList } from "./bar_list";
import { Card } from "./card";
import { PageNote } from "./page_note";
import { askGoals, MOST_ASKED, useGoals } from "./saved_goals";
import { Async } from "./states";

const ROWS = 8;
const FIELDS = [
  { label: texts.goals.name, field: "name" },
  { label: texts.metrics.visitors, field: "visitors" },
  { label: texts.goals.rate, field: "conversion_rate" },
];

export function GoalsCard() {
  const goals = (useGoals().value ?? []).slice(0, MOST_ASKED);
  const ask = goals.length ? askGoals(goals) : null;
  const loaded = useAnswer(ask);
  if (!ask) return null;
  return (
    <Card title={texts.goals.title} ask={ask} className="breakdown" fields={FIELDS}
      actions={<a class="quiet-button" href={addressWith({ view: "goals" })} onClick={follow}
        aria-label={`${texts.breakdowns.all}: ${texts.goals.title}`}>{texts.breakdowns.all}</a>}>
      {!isShared() && <PageNote />}
      <Async loaded={loaded} lines={Math.min(goals.length, ROWS)}>
        {({ rows }) => (
          <BarList nameLabel={`${texts.goals.name} · ${texts.goals.rate}`} valueLabel={texts.metrics.visitors} bars={rows.toSorted((a, b) => b.visitors - a.visitors).slice(0, ROWS).map((row) => ({
            key: row.name, name: `${row.name} · ${formatPercent(row.conversion_rate, 2)}`, value: row.visitors,
          }))} />
        )}
      </Async>
    </Card>
  );
}
