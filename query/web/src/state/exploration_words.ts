// A custom query in words, and as the page edits it from a saved body.
import { moreTexts } from "../texts.more";
import { columnText, valueText } from "./columns";
import { type Exploration, parseExploration, START } from "./exploration";
import { type Condition, editable, type Filter, isRecord } from "./filters";

const t = moreTexts.explore;

const isList = (value: unknown): value is unknown[] => Array.isArray(value);

/** Conditions as they are edited; null when some is another kind of filter. */
function conditionsOf(filters: unknown): Condition[] | null {
  const all = (isList(filters) ? filters : []).map((filter) => (isRecord(filter)
    ? editable({ ...filter, operator: filter.operator ?? filter.op } as Filter) : null));
  return all.every((each) => each !== null) ? all.map(({ field, operator, value }) => ({ field, operator, value: value ?? "" })) : null;
}

/** A saved body as the page edits it; null when it has what the page cannot show. */
export function explorationOf(body: unknown): Exploration | null {
  const { query, limit } = isRecord(body) ? body : {};
  if (!isRecord(query)) return null;
  const [filters, having] = [conditionsOf(query.filters), conditionsOf(query.having)];
  if (!filters || !having || !isList(query.selects)) return null;
  const selects = query.selects.map((select) => (isRecord(select) ? { aggregate: select.aggregate, field: select.field } : select));
  return parseExploration(JSON.stringify({
    table: query.table, selects, groups: query.groupBy ?? [], filters, having, limit: limit ?? START.limit,
  }));
}

/** What is asked, as one line. */
export function customText({ table, selects, groups }: Exploration): string {
  const what = `${selects.map(valueText).join(", ")} (${t.tables[table] ?? table})`;
  return groups.length ? t.asked(what, groups.map(columnText).join(t.and)) : what;
}
