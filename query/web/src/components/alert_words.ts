// What an alert watches, as one plain sentence.
import { isolate } from "../isolate";
import { columnsOfWatch, groupsOfWatch, type Draft, thresholdOf, type Watch } from "../state/alert_rules";
import { columnText } from "../state/columns";
import { explorationOf } from "../state/exploration_words";
import type { Filter } from "../state/filters";
import { formatMilliseconds, formatNumber, formatPercent, formatSpan } from "../state/format";
import { dimensionText } from "../state/metric_fields";
import { questionOf } from "../state/question";
import { moreTexts } from "../texts.more";
import type { Goal } from "./saved_goals";
import { filterText } from "./filter_text";

const t = moreTexts.alerts;
/** Columns of durations in milliseconds. */
const MILLISECONDS = /^p\d\d_(lcp|inp|fcp|ttfb)$/;

type Goals = Pick<Goal, "id" | "name" | "event">[];

/** The name of the column that is watched. */
const columnOf = (watch: Watch, goals: Goals): string | null => watch.column ?? columnsOfWatch(watch, { goals })[0]?.name ?? null;

/** A number of the column, in its unit. */
export function valueOf(watch: Watch, value: number | null, goals: Goals = []): string {
  if (value === null) return "–";
  if (watch.signal) return watch.signal === "freshness" ? formatSpan(value) : formatPercent(value, 0);
  return MILLISECONDS.test(columnOf(watch, goals) ?? "") ? formatMilliseconds(value) : formatNumber(value);
}

/** What the number of the condition is, with its unit. */
export function boundLabel({ watch, condition }: Pick<Draft, "watch" | "condition">): string {
  if (watch.signal) return watch.signal === "freshness" ? t.minutes : t.percent;
  const isBound = condition === "above" || condition === "below";
  return isBound && MILLISECONDS.test(columnOf(watch, []) ?? "") ? `${t.thresholds[condition]} (ms)` : t.thresholds[condition] ?? "";
}

/** What is counted or measured, without the condition. */
function watchText(watch: Watch, goals: Goals): string {
  if (watch.signal) return t.signals[watch.signal as keyof typeof t.signals];
  const columns = columnsOfWatch(watch, { goals });
  const column = columns.find(({ name }) => name === watch.column) ?? columns[0];
  if (column) return column.label;
  if (!watch.standardQuery) return watch.customQuery || watch.metricsQuery ? moreTexts.explore.madeElsewhere : t.counted.events!;
  const [parameter] = (watch.standardQuery?.parameters ?? []) as ({ name?: string } | string)[];
  const type = typeof parameter === "string" ? parameter : parameter?.name;
  return [type, watch.column].filter(Boolean).map((name) => isolate(String(name))).join(" · ") || moreTexts.explore.madeElsewhere;
}

/** `conversions of Signup`. */
function conversionsText({ metricsQuery }: Watch, goals: Goals): string | null {
  const term = questionOf(metricsQuery)?.metrics.find((each) => typeof each !== "string" && each.metric === "conversions");
  const goal = goals.find(({ id }) => typeof term === "object" && id === term.goal);
  return goal ? t.conversionsOf(goal.name) : null;
}

/** The filters of the query, in words. */
const filtersOf = ({ metricsQuery, customQuery }: Watch): string[] => {
  const filters = metricsQuery ? questionOf(metricsQuery)?.filters : customQuery ? explorationOf(customQuery)?.filters : [];
  return (filters ?? []).map((filter) => filterText(filter as Filter));
};

/** What the rows of the result stand for, in words. */
const groupNames = (watch: Watch): string => groupsOfWatch(watch).map((group) => (watch.metricsQuery ? dimensionText(group) : columnText(group))).join(", ");

/** That groups are not watched, where the condition is about one number; null without any. */
export const totalText = ({ watch, condition }: Pick<Draft, "watch" | "condition">): string | null =>
  (condition !== "new" && groupsOfWatch(watch).length ? t.total(groupNames(watch)) : null);

/** `More than 10 errors in an hour`. */
export function ruleText(draft: Pick<Draft, "watch" | "condition" | "threshold" | "against" | "every">, goals: Goals): string {
  const { watch, condition, against, every } = draft;
  const what = watchText(watch, goals);
  const name = columnOf(watch, goals) ?? "";
  const counted = name === "conversions" ? conversionsText(watch, goals) : Object.hasOwn(t.counted, name) ? t.counted[name]! : null;
  const per = watch.signal ? "" : t.per[every];
  const bound = thresholdOf(draft);
  const number = bound === null ? "…" : valueOf(watch, bound, goals);
  const before = against === "week" ? t.weekBefore[every] : t.before[every];
  const sentence = {
    above: () => (counted ? t.rules.moreThan(number, counted, per) : t.rules.above(what, number, per)),
    below: () => (counted ? t.rules.fewerThan(number, counted, per) : t.rules.below(what, number, per)),
    rises: () => t.rules.rises(what, formatPercent(bound ?? 50, 0), before),
    falls: () => t.rules.falls(what, formatPercent(bound ?? 50, 0), before),
    spike: () => t.rules.spike(what, per),
    drop: () => t.rules.drop(what, per),
    nothing: () => t.rules.nothing(counted ?? what, per),
    new: () => (name === "errors" && groupsOfWatch(watch).length === 1 ? t.rules.newError : t.rules.new(groupNames(watch) || what)),
  }[condition]();
  return [sentence.trim(), ...filtersOf(watch)].join(" · ");
}

