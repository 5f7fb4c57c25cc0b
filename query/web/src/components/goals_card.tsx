// The goals that most visitors reached, and what they are worth, on the overview of a website that has some.
import type { ComponentChildren } from "preact";
import { hasRecords, isShared } from "../api/session";
import { useAnswer } from "../api/use";
import { addressWith, follow } from "../state/address";
import { formatNumber, formatPercent } from "../state/format";
import { hadAny } from "./had";
import { texts } from "../texts";
import type { Row } from "../types";
import { Card } from "./card";
import { Icon } from "./icon";
import { amountsText, useGoalValues } from "./money";
import { PageNote } from "./page_note";
import { askGoals, MOST_ASKED, useGoals } from "./saved_goals";
import { Async } from "./states";

const ROWS = 8;
/** Rows while the goals load. */
const USUAL = 3;
const t = texts.goals;
const FIELDS = [
  { label: t.name, field: "name" },
  { label: t.rate, field: "conversion_rate" },
  { label: t.conversions, field: "conversions" },
  { label: t.value, field: "value" },
];

export function GoalsCard({ title = t.title, empty = null }: {
  title?: string;
  /** Where the website has no goal. */
  empty?: ComponentChildren;
}) {
  const { value: saved, error } = useGoals();
  const goals = (saved ?? []).slice(0, MOST_ASKED);
  const ask = goals.length ? askGoals(goals) : null;
  const loaded = useAnswer(ask);
  const values = useGoalValues(goals);
  if (!hasRecords() || error || !hadAny("goals", saved)) return empty;
  return (
    <Card title={title} ask={ask ?? undefined} className="breakdown goals-card" fields={FIELDS}>
      {!isShared() && <PageNote />}
      <Async loaded={loaded} lines={Math.min(goals.length || USUAL, ROWS)}>
        {({ rows }) => <Rows rows={rows.toSorted((a, b) => b.visitors - a.visitors).slice(0, ROWS)} values={values} />}
      </Async>
      <footer class="card-foot">
        <a class="quiet-button" href={addressWith({ view: "goals" })} onClick={follow} aria-label={`${texts.breakdowns.all}: ${t.title}`}>
          {texts.breakdowns.all}<Icon name="arrow-right" size={14} />
        </a>
      </footer>
    </Card>
  );
}

function Rows({ rows, values }: { rows: Row<"goals">[]; values: ReturnType<typeof useGoalValues> }) {
  const most = Math.max(...rows.map((row) => row.conversion_rate ?? 0)) || 1;
  const isValued = rows.some(({ name }) => values?.has(name));
  return (
    <table class="bars goals-bars">
      <thead>
        <tr>
          <th scope="col">{t.name}</th><th scope="col" class="number">{t.rate}</th><th scope="col" class="number">{t.conversions}</th>
          {isValued && <th scope="col" class="number">{t.value}</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <th scope="row">
              <span class="bar" style={{ width: `${(100 * (row.conversion_rate ?? 0)) / most}%` }} />
              <span class="row-link" title={row.name}>
                {row.name}
                <small class="goal-facts">
                  {[formatPercent(row.conversion_rate ?? 0, 2), t.visitors(row.visitors, formatNumber(row.visitors)), values?.has(row.name) && amountsText(values.get(row.name)!)]
                    .filter(Boolean).join(" · ")}
                </small>
              </span>
            </th>
            <td class="number">{formatPercent(row.conversion_rate ?? 0, 2)}</td>
            <td class="number">{formatNumber(row.conversions)}</td>
            {isValued && <td class="number">{values!.has(row.name) ? amountsText(values!.get(row.name)!) : <span class="quiet">–</span>}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
