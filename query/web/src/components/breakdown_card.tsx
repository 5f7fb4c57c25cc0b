// A card of breakdowns with a tab each; the first is asked until another one is chosen.
import type { Ask } from "../api/ask";
import { isShared } from "../api/session";
import { useAnswer } from "../api/use";
import { address, addressWith, follow, go, goOwn } from "../state/address";
import { type Breakdown, type GROUPS } from "../state/breakdowns";
import { condition, hasFilter, toggleFilter } from "../state/filters";
import { texts } from "../texts";
import type { QueryType } from "../types";
import { BarList } from "./bar_list";
import { Card } from "./card";
import { ImportedBars } from "./imported";
import { Icon } from "./icon";
import { lazy, Suspense } from "./lazy";
import { RowImage } from "./logo";
import { NoRows } from "./no_rows";
import { PageNote } from "./page_note";
import { Async, Skeleton } from "./states";

const ROWS = 8;
/** Rows while they load. */
const USUAL = 6;
const MAP = "map";
const ALL_COUNTRIES = 250;
const t = texts.breakdowns;
const WorldMap = lazy(() => import("./world_map"));

export function BreakdownCard({ group, title = group.label }: { group: (typeof GROUPS)[number]; title?: string }) {
  const { own } = address.value;
  const withMap = group.id === "places";
  const tabs = group.breakdowns.map(({ type, label }) => ({ id: type as string, label }));
  if (withMap) tabs.splice(1, 0, { id: MAP, label: t.map });
  const tab = tabs.find(({ id }) => id === own[group.id])?.id ?? tabs[0]!.id;
  const breakdown = group.breakdowns.find(({ type }) => type === tab) ?? group.breakdowns[0]!;
  const ask: Ask<QueryType> = { name: breakdown.type, options: { limit: tab === MAP ? ALL_COUNTRIES : ROWS } };
  return (
    <Card title={title} ask={ask} definition={{ type: breakdown.type, rows: true }} tabs={tabs} tab={tab} className="breakdown"
      file={[{ label: breakdown.label, field: breakdown.name, show: breakdown.display }, { label: breakdown.valueLabel, field: breakdown.value }]}
      onTab={(id) => goOwn({ [group.id]: id === tabs[0]!.id ? "" : id }, { replace: true })}>
      {group.id === "actions" && !isShared() && <PageNote />}
      <BreakdownRows breakdown={breakdown} ask={ask} map={tab === MAP} lines={tab === tabs[0]!.id ? group.lines : undefined} />
      <footer class="card-foot">
        <a class="quiet-button" href={addressWith({ view: "list", item: breakdown.type })} onClick={follow}
          aria-label={`${t.all}: ${breakdown.label}`}>{t.all}<Icon name="arrow-right" size={14} /></a>
      </footer>
    </Card>
  );
}

function BreakdownRows({ breakdown, ask, map, lines = USUAL }: { breakdown: Breakdown; ask: Ask<QueryType>; map: boolean; lines?: number }) {
  const loaded = useAnswer(ask);
  const { filters } = address.value;
  const { display = (name: string) => name } = breakdown;
  const toggle = (row: Record<string, unknown>) => go({ filters: toggleFilter(filters, breakdown.filter(row, isShared())) });
  return (<>
    <Async loaded={loaded} lines={lines} isEmpty={({ rows }) => !rows.length} empty={<NoRows breakdown={breakdown} />}>
      {({ rows }) => {
        const named = rows as unknown as Record<string, unknown>[];
        if (map) {
          return (
            <Suspense fallback={<Skeleton lines={ROWS} />}>
              <WorldMap countries={named.map((row) => ({ code: row.name as string, value: row[breakdown.value] as number, share: row.percentage as number | null }))}
                chosen={(code) => hasFilter(filters, condition("country", code))} onClick={(name) => toggle({ name })} />
            </Suspense>
          );
        }
        return (
          <BarList nameLabel={breakdown.label} valueLabel={breakdown.valueLabel} bars={named.map((row) => ({
            key: `${row[breakdown.name]} ${row.country ?? ""}`,
            image: <RowImage breakdown={breakdown} row={row} />,
            name: display(row[breakdown.name] as string),
            value: row[breakdown.value] as number,
            chosen: hasFilter(filters, breakdown.filter(row, isShared())),
            onClick: () => toggle(row),
          }))} />
        );
      }}
    </Async>
    <ImportedBars breakdown={breakdown} answer={loaded.value} limit={ROWS} />
  </>);
}
