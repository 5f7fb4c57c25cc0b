// Says what a filter on a page leaves of events and goals, and offers all of the visitors who saw the page.
import { address, go } from "../state/address";
import { type Condition, type Filter, isCondition } from "../state/filters";
import { texts } from "../texts";
import { filterText } from "./filter_text";
import { useSegments } from "./segments";

const t = texts.goals;

export function PageNote() {
  const { filters } = address.value;
  const segments = useSegments(filters.some(({ segment }) => segment));
  /** What a filter of the page stands for. */
  const meant = (filter: Filter): Filter[] => segments.value?.find(({ name }) => name === filter.segment)?.filters ?? [filter];
  const onPage = filters.flatMap(meant).find(isOnPage);
  if (!onPage) return null;
  const ofVisitors = () => go({
    filters: filters.flatMap((filter) => (meant(filter).some(isOnPage) ? meant(filter).map(sawPage) : [filter])),
  });
  return (
    <p class="notice">{t.onPage(filterText(onPage))} <button type="button" class="button" onClick={ofVisitors}>{t.ofVisitors}</button></p>
  );
}

const isOnPage = (filter: Filter): filter is Condition =>
  isCondition(filter) && filter.field === "path" && filter.operator === "eq";
const sawPage = (filter: Filter): Filter =>
  (isOnPage(filter) ? { has_done: { path: String(filter.value) } as unknown as NonNullable<Filter["has_done"]> } : filter);
