// What questions are made of: metrics and dimensions in groups, their words, and which of them go together.
import { isolate } from "../isolate";
import { moreTexts } from "../texts.more";
import type { IconName } from "../types";
import { aggregateText, columnText, PROPERTY } from "./columns";
import type { Filter } from "./filters";
import { formatDuration, formatMilliseconds, formatMoney, formatNumber, formatPercent, formatRatio } from "./format";
import { bucketOf, BUCKETS, columnsOf, groupsOf, isFormula, MOST_DIMENSIONS, MOST_METRICS, type Question, SEGMENT, type Term, TIME } from "./question";

const t = moreTexts.explore;

/** `GET /v1/query/metrics`. */
export interface MetricsCatalogue {
  metrics: { name: string; meaning: string; unit?: string; tables?: string[]; needs?: string }[];
  dimensions: { name: string; meaning: string; type?: string; tables?: string[]; filter?: boolean; group?: boolean }[];
}

/** What is known of the website beside the catalogue. */
export interface Known {
  catalogue: MetricsCatalogue;
  goals: { id: string; name: string; event: string | null }[];
  /** Currencies of amounts in the time range. */
  currencies: string[];
  /** Id of the money property to sum, where not all of them can be. */
  money?: string;
}

export interface Choice<Value> {
  value: Value;
  text: string;
  meaning: string;
}

export interface ChoiceGroup<Value> {
  id: string;
  label: string;
  icon: IconName;
  choices: Choice<Value>[];
}

const EVENTS = ["events"];
const ROWS = ["events", "errors", "vitals"];
const WITH_TIME = [...ROWS, "ledger"];
/** Narrower than the time range of a page can be. */
const SHORT_BUCKETS = ["time:minute", "time:quarter_hour", "time:hour"];
const VITAL = /^(p50|p75|p90|p95|good|needs_improvement|poor|samples)_(lcp|inp|cls|fcp|ttfb)$/;
const ICONS: Record<keyof typeof t.metricGroups, IconName> = {
  visitors: "users", visits: "footprints", pages: "file-text", events: "mouse-pointer-click", goals: "goal", revenue: "coins", vitals: "gauge", errors: "bug", delivery: "database",
};
const METRICS: [keyof typeof t.metricGroups, string[]][] = [
  ["visitors", ["visitors", "new_visitors", "returning_visitors"]],
  ["visits", ["visits", "bounce_rate", "visit_duration", "median_visit_duration", "views_per_visit", "entries", "exits", "exit_rate"]],
  ["pages", ["page_views", "time_on_page", "scroll_depth"]],
  ["events", ["events", "outbound_clicks"]],
  ["goals", []],
  ["revenue", []],
  ["errors", ["errors", "affected_visitors", "error_rate", "errors_per_view"]],
  ["vitals", []],
  ["delivery", ["received", "stored", "duplicates", "quarantined", "dropped"]],
];
/** The unit of metrics with arguments; those of the catalogue have theirs. */
const UNITS: Record<string, string> = { revenue: "money", orders: "count", average_order_value: "money", conversions: "count", conversion_rate: "percent" };

type FieldGroup = keyof typeof t.fieldGroups;
const FIELD_ICONS: Record<FieldGroup, IconName> = {
  sources: "compass", campaigns: "megaphone", pages: "file-text", places: "map-pin", devices: "monitor", visitors: "user", actions: "mouse-pointer-click",
  errors: "bug", time: "clock", further: "tag",
};
const FIELDS: [FieldGroup, string[]][] = [
  ["sources", ["visit.channel", "visit.referrer_name", "visit.referrer", "visit.referrer_type"]],
  ["campaigns", ["visit.utm_campaign", "visit.utm_source", "visit.utm_medium", "visit.utm_term", "visit.utm_content", "visit.click_id"]],
  ["pages", ["path", "path_group", "folder", "visit.entry_page", "visit.exit_page", "title", "host"]],
  ["places", ["country", "region", "city", "language", "timezone"]],
  ["devices", ["device_type", "browser_name", "browser_version", "os_name", "os_version", "screen_resolution"]],
  ["visitors", ["visitor.is_new", "visitor.first_seen:week", "visitor.first_seen:month"]],
  ["actions", ["name", "href", "outbound_domain"]],
  ["time", ["time:hour_of_day", "time:day_of_week"]],
  ["errors", ["message", "message_pattern", "error_type", "release", "level", "filename"]],
  ["further", ["currency", "topic", "drop_reason", "bot_reason", "import_id", "source", "connection_type"]],
];

const isMoney = (term: Term): boolean => typeof term !== "string" && Object.hasOwn(t.ofMoney, term.metric);
const find = <One extends { name: string }>(list: One[], name: string): One | undefined => list.find((each) => each.name === name);

/** What a metric is called. */
export function termText(term: Term, { goals }: Pick<Known, "goals">): string {
  if (typeof term !== "string") {
    if (isFormula(term)) return isolate(term.as ?? term.formula ?? term.metric);
    const goal = goals.find(({ id, name }) => term.goal === id || term.goal === name)?.name ?? term.goal ?? "";
    if (Object.hasOwn(t.ofMoney, term.metric)) {
      const what = t.ofMoney[term.metric as keyof typeof t.ofMoney];
      return term.currency ? t.inCurrency(what, term.currency) : what;
    }
    if (Object.hasOwn(t.ofGoals, term.metric)) return goal ? t.ofGoal(t.ofGoals[term.metric as keyof typeof t.ofGoals], goal) : t.ofGoals[term.metric as keyof typeof t.ofGoals];
    if (term.property) return t.valueOf(aggregateText(term.metric), columnText(term.property));
    return termText(term.metric, { goals });
  }
  const [, part, vital] = VITAL.exec(term) ?? [];
  if (part) return t.vitalParts[part as keyof typeof t.vitalParts](vital!.toUpperCase());
  return Object.hasOwn(t.metricNames, term) ? t.metricNames[term]! : term;
}

/** What a dimension is called. */
export function dimensionText(name: string): string {
  if (Object.hasOwn(BUCKETS, name)) return columnText(`${TIME}${BUCKETS[name]}`);
  const [field, width] = name.split(/:(?=(?:day|week|month)$)/);
  return width && !name.startsWith(TIME) ? t.firstSeen[name] ?? `${columnText(field!)} (${width})` : columnText(name);
}

export const iconOf = (name: string): IconName => {
  if (Object.hasOwn(BUCKETS, name)) return "clock";
  return FIELD_ICONS[FIELDS.find(([, names]) => names.includes(name))?.[0] ?? "further"];
};

export function termIcon(term: Term): IconName {
  const name = typeof term === "string" ? term : term.metric;
  if (isFormula(term)) return "square-function";
  if (isMoney(term)) return ICONS.revenue;
  if (name.startsWith("conversion")) return ICONS.goals;
  if (VITAL.test(name)) return ICONS.vitals;
  return ICONS[METRICS.find(([, names]) => names.includes(name))?.[0] ?? "events"];
}

const moneyTerm = (metric: string, currency: string, money?: string): Term => ({ metric, currency, ...(money ? { money } : {}), as: `${metric}_${currency}` });
const ofGoal = (metric: string, id: string): Term => ({ metric, goal: id, as: `${metric}_${id}`.replace(/\W/g, "_") });

/** The metrics that can be asked of the website, in groups. */
export function metricGroups(known: Known): ChoiceGroup<Term>[] {
  const { catalogue: { metrics }, goals, currencies, money } = known;
  const meaning = (name: string) => find(metrics, name)?.meaning ?? "";
  const choice = (term: Term): Choice<Term> => ({ value: term, text: termText(term, known), meaning: meaning(typeof term === "string" ? term : term.metric) });
  const terms = (id: string, names: string[]): Term[] => {
    if (id === "goals") return goals.flatMap((goal) => [ofGoal("conversions", goal.id), ofGoal("conversion_rate", goal.id)]);
    if (id === "revenue") return currencies.flatMap((currency) => Object.keys(t.ofMoney).map((metric) => moneyTerm(metric, currency, money)));
    if (id === "vitals") return metrics.map(({ name }) => name).filter((name) => VITAL.test(name)).toSorted((a, b) => Number(b.startsWith("p75")) - Number(a.startsWith("p75")));
    return names.filter((name) => find(metrics, name));
  };
  return METRICS.map(([id, names]) => ({ id, label: t.metricGroups[id], icon: ICONS[id], choices: terms(id, names).map(choice) })).filter(({ choices }) => choices.length);
}

const asCode = (name: string): string => `\`${name}\``;

/** What a formula can have as operands, by their names: the metrics before it, and all without arguments. */
export function operandGroups(before: Term[], known: Known): ChoiceGroup<string>[] {
  const columns = columnsOf(before);
  const chosen = before.map((term, i): Choice<string> => ({ value: columns[i]!, text: termText(term, known), meaning: asCode(columns[i]!) }));
  const plain = metricGroups(known).map((group) => ({
    ...group, choices: group.choices.flatMap(({ value, text }) => (typeof value === "string" && !columns.includes(value) ? [{ value, text, meaning: asCode(value) }] : [])),
  }));
  const first: ChoiceGroup<string> = { id: "chosen", label: t.chosenMetrics, icon: "check", choices: chosen };
  return [first, ...plain].filter(({ choices }) => choices.length);
}

/** The dimensions besides buckets of time, in groups. */
export function dimensionGroups({ catalogue: { dimensions }, currencies, money }: Known): ChoiceGroup<string>[] {
  return FIELDS.map(([id, names]) => ({
    id, label: t.fieldGroups[id], icon: FIELD_ICONS[id],
    choices: names.filter((name) => name !== "currency" || (currencies.length && !money)).flatMap((name) => find(dimensions, name) ?? []).map(({ name, meaning }) => ({ value: name, text: dimensionText(name), meaning })),
  }));
}

/** The operands of a formula that are metrics without arguments; others stand beside it in the question. */
const plainOperands = (term: Term, { catalogue }: Known): MetricsCatalogue["metrics"] =>
  (isFormula(term) ? term.formula?.match(/[A-Za-z_]\w*/g) ?? [] : []).flatMap((name) => find(catalogue.metrics, name) ?? []);

/** The tables that a metric is computed from; those of a formula's other operands are those of the metrics beside it. */
function tablesOf(term: Term, known: Known): string[] {
  if (isFormula(term)) return plainOperands(term, known).flatMap(({ tables }) => tables ?? []);
  const name = typeof term === "string" ? term : term.metric;
  return find(known.catalogue.metrics, name)?.tables ?? EVENTS;
}

const WITH_PROPERTIES = ["events", "errors"];

/** The tables whose rows have a dimension or a filtered field. */
function tablesWith(name: string, { catalogue }: Known): string[] {
  if (name.startsWith(TIME)) return WITH_TIME;
  if (name.startsWith("visitor.")) return ROWS;
  if (name === SEGMENT) return WITH_TIME;
  if (name.startsWith(PROPERTY)) return WITH_PROPERTIES;
  return find(catalogue.dimensions, name)?.tables ?? EVENTS;
}

/** The fields that filters name. */
export function filteredFields(filters: Filter[]): string[] {
  return [...new Set(filters.flatMap((filter): string[] => [
    ...(typeof filter.field === "string" ? [filter.field] : []),
    ...filteredFields([...(filter.and ?? []), ...(filter.or ?? []), ...(filter.not ? [filter.not] : [])]),
  ]))];
}

const goTogether = (term: Term, field: string, known: Known): boolean =>
  tablesOf(term, known).every((table) => tablesWith(field, known).includes(table));

/** Why a metric cannot be asked beside the dimensions and filters of a question; null when it can. */
export function reasonAgainstMetric(term: Term, question: Question, filters: Filter[], known: Known): string | null {
  const dimension = question.dimensions.find((name) => !goTogether(term, name, known));
  if (dimension) return t.notBy(dimensionText(dimension));
  const field = filteredFields([...question.filters, ...filters]).find((name) => !goTogether(term, name, known));
  if (field) return t.notFiltered(columnText(field));
  return question.metrics.length >= MOST_METRICS ? t.mostMetrics(MOST_METRICS) : null;
}

/** Why a question cannot be grouped by a dimension as well; null when it can. */
export function reasonAgainstDimension(name: string, question: Question, known: Known): string | null {
  const term = question.metrics.find((each) => !goTogether(each, name, known));
  if (term !== undefined) return t.notOf(termText(term, known));
  return question.dimensions.filter((each) => each !== SEGMENT).length >= MOST_DIMENSIONS ? t.mostDimensions(MOST_DIMENSIONS) : null;
}

/** Why a question cannot be asked under the filters of the page; null when it can. */
export function reasonAgainst(question: Question, filters: Filter[], known: Known): string | null {
  for (const term of question.metrics) {
    const reason = reasonAgainstMetric(term, { ...question, metrics: [] }, filters, known);
    if (reason) return t.cannot(termText(term, known), reason);
  }
  return null;
}

/** Whether the visitors with a row of the question can be listed. */
export const hasVisitors = (question: Question, known: Known): boolean =>
  question.metrics.some((term) => tablesOf(term, known).includes("events"))
  && !SHORT_BUCKETS.includes(bucketOf(question) ?? "") && groupsOf(question).every((name) => isFilterable(name, known) && !name.startsWith(TIME));

export const isFilterable = (name: string, { catalogue }: Known): boolean =>
  name.startsWith(PROPERTY) || (find(catalogue.dimensions, name)?.filter ?? false);

export const unitOf = (term: Term, { catalogue }: Known): string =>
  typeof term === "string" ? find(catalogue.metrics, term)?.unit ?? "number" : UNITS[term.metric] ?? find(catalogue.metrics, term.metric)?.unit ?? "number";

/** A value as it is shown; amounts have their currency. */
export function valueShown(term: Term, value: unknown, known: Known): string {
  if (typeof value !== "number") return "–";
  if (isFormula(term)) return formatRatio(value);
  switch (unitOf(term, known)) {
    case "percent": return formatPercent(value, 1);
    case "seconds": return formatDuration(value);
    case "milliseconds": return formatMilliseconds(value);
    case "money": return formatMoney((typeof term !== "string" && term.currency) || null, value);
    default: return formatNumber(value);
  }
}

/** Of metrics that are better when they are less. */
export const lessIsBetter = (term: Term): boolean =>
  typeof term === "string" && (/^(bounce_rate|exit_rate|errors|affected_visitors|error_rate|errors_per_view|duplicates|quarantined|dropped)$/.test(term) || /^(p\d\d|poor|needs_improvement)_/.test(term));

/** The metric by which values of a dimension are the most important: a ratio is large where there is little. */
export function weightOf(term: Term, known: Known): Term {
  const [operand] = plainOperands(term, known);
  if (operand) return weightOf(operand.name, known);
  const unit = unitOf(term, known);
  if (unit === "count" || (typeof term !== "string" && term.metric === "revenue")) return term;
  const [, , vital] = (typeof term === "string" && VITAL.exec(term)) || [];
  if (vital) return `samples_${vital}`;
  return tablesOf(term, known).includes("errors") ? "errors" : "visitors";
}

/** What is asked, as one line: `Bounce rate, Visits by Entry page`. */
export function questionText(question: Question, known: Pick<Known, "goals">): string {
  const what = question.metrics.map((term) => termText(term, known)).join(", ");
  const by = question.dimensions.map(dimensionText).join(t.and);
  return by ? t.asked(what, by) : what;
}

export interface Example {
  id: keyof typeof t.examples;
  icon: IconName;
  question: Partial<Question>;
}

/** Questions to begin with, those of money and goals where the website has them. */
export function examples(known: Known, order: string | undefined): Example[] {
  const [currency] = known.currencies;
  const goal = known.goals.find(({ event }) => event !== null && event === order) ?? known.goals.find(({ event }) => event) ?? known.goals[0];
  const ofMoney = (metric: string): Term => moneyTerm(metric, currency!, known.money);
  const all: (Example | null)[] = [
    currency ? { id: "revenueBySource", icon: "coins", question: { metrics: [ofMoney("revenue"), "visitors"], dimensions: ["visit.referrer_name"] } } : null,
    { id: "bounceByEntry", icon: "footprints", question: { metrics: ["visits", "bounce_rate"], dimensions: ["visit.entry_page"] } },
    currency ? { id: "ordersByDay", icon: "shopping-cart", question: { metrics: [ofMoney("orders")], dimensions: ["time:day"] } } : null,
    { id: "channelsByDay", icon: "chart-line", question: { metrics: ["visitors"], dimensions: ["time:day", "visit.channel"] } },
    goal ? { id: "goalByDevice", icon: "goal", question: { metrics: [ofGoal("conversion_rate", goal.id), ofGoal("conversions", goal.id), "visitors"], dimensions: ["device_type"] } } : null,
    { id: "loadingByPage", icon: "gauge", question: { metrics: ["p75_lcp", "samples_lcp"], dimensions: ["path"], orderBy: [{ field: "samples_lcp", direction: "desc" }] } },
    { id: "hours", icon: "clock", question: { metrics: ["visits"], dimensions: ["time:hour_of_day"] } },
    { id: "newByDay", icon: "users", question: { metrics: ["new_visitors", "returning_visitors"], dimensions: ["time:day"] } },
    { id: "errorsByBrowser", icon: "bug", question: { metrics: ["errors", "affected_visitors"], dimensions: ["browser_name"] } },
  ];
  return all.filter((example) => example !== null).slice(0, 6);
}
