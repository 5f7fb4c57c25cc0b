// What an alert watches and when it fires: as it is edited, and the ready-made beginnings of new ones.
import { moreTexts } from "../texts.more";
import type { IconName, Schemas } from "../types";
import { valueText } from "./columns";
import { aliasOf, TIME } from "./exploration";
import { explorationOf } from "./exploration_words";
import { isRecord } from "./filters";
import { termText } from "./metric_fields";
import { columnsOf, groupsOf, membersOf, NO_QUESTION, type Question, questionOf, type Term, tidied } from "./question";

export const CONDITIONS = ["above", "below", "rises", "falls", "spike", "drop", "nothing", "new"] as const;
export const BUCKET_WIDTHS = ["quarter_hour", "hour", "day", "week"] as const;
export const REFERENCES = ["previous", "week"] as const;
export type Condition = (typeof CONDITIONS)[number];
export type Reference = (typeof REFERENCES)[number];
export type BucketWidth = (typeof BUCKET_WIDTHS)[number];

type Alert = Schemas["AlertResource"];

/** What is watched: one of the queries, or a signal; without any, all events. */
export interface Watch {
  metricsQuery?: Record<string, unknown> | null;
  customQuery?: Record<string, unknown> | null;
  standardQuery?: Record<string, unknown> | null;
  signal?: string | null;
  column?: string | null;
}

/** What presets need of the website. */
export interface AlertKnown {
  goals: { id: string; name: string; event: string | null }[];
  explorations: { id: string; name: string; metricsQuery: unknown; customQuery: unknown }[];
}

/** One thing that a preset can watch. */
export interface Choice {
  id: string;
  label: string;
  watch: Watch;
  /** In place of that of the preset. */
  threshold?: number;
}

/** How the form of a new alert begins. */
export interface Beginning {
  /** The first one is chosen. */
  conditions: readonly Condition[];
  threshold?: number;
  against?: Reference;
  every: BucketWidth;
}

export interface Preset extends Beginning {
  id: keyof typeof moreTexts.alerts.presets;
  icon: IconName;
  choices: (known: AlertKnown) => Choice[];
}

/** The widths that a condition may have: what is usual is known by the hour. */
export const widthsOf = (condition: Condition): readonly BucketWidth[] =>
  condition === "spike" || condition === "drop" ? BUCKET_WIDTHS.slice(1) : BUCKET_WIDTHS;

/** Conditions with a number, and what is proposed. */
export const THRESHOLDS: Partial<Record<Condition, number>> = { above: 0, below: 0, rises: 50, falls: 50, spike: 3, drop: 3 };

const metrics = (terms: Term[], dimensions: string[] = []): Watch => ({ metricsQuery: membersOf({ ...NO_QUESTION, metrics: terms, dimensions }) });
const measured = (names: string[], thresholds: number[] = []): Choice[] =>
  names.map((name, i) => ({ id: name, label: termText(name, { goals: [] }), watch: metrics([name]), threshold: thresholds[i] }));
const alone = (watch: Watch) => (): Choice[] => [{ id: "", label: "", watch }];
const COUNTS = ["visitors", "visits", "page_views", "events"];

/** Presets in the order of their list. */
export const PRESETS: Preset[] = [
  { id: "nothing", icon: "triangle-alert", choices: () => measured(["events", "page_views"]), conditions: ["nothing"], every: "hour" },
  { id: "number", icon: "users", choices: () => measured(COUNTS), conditions: ["above", "below"], every: "day" },
  { id: "unusual", icon: "chart-line", choices: () => measured(["visits", "visitors", "page_views", "events"]), conditions: ["spike", "drop"], threshold: 3, every: "hour" },
  { id: "change", icon: "trending-down", choices: () => measured(COUNTS), conditions: ["falls", "rises"], threshold: 30, against: "week", every: "day" },
  { id: "newError", icon: "sparkles", choices: alone(metrics(["errors"], ["message"])), conditions: ["new"], every: "hour" },
  { id: "errors", icon: "bug", choices: alone(metrics(["errors"])), conditions: ["above"], threshold: 10, every: "hour" },
  { id: "vital", icon: "gauge", choices: () => measured(["p75_lcp", "p75_inp", "p75_cls"], [2500, 200, 0.1]), conditions: ["above"], every: "day" },
  {
    id: "goal", icon: "goal", conditions: ["above", "below"], threshold: 0, every: "hour",
    choices: ({ goals }) => goals.map(({ id, name }) => ({ id, label: name, watch: metrics([{ metric: "conversions", goal: id }]) })),
  },
  {
    id: "exploration", icon: "compass", conditions: CONDITIONS, every: "day",
    choices: ({ explorations }) => explorations.flatMap(({ id, name, metricsQuery, customQuery }) => {
      const watch = watchOf(metricsQuery, customQuery);
      return watch ? [{ id, label: name, watch }] : [];
    }),
  },
  { id: "rateLimit", icon: "activity", choices: alone({ signal: "rate_limit" }), conditions: ["above"], threshold: 80, every: "hour" },
  { id: "late", icon: "clock", choices: alone({ signal: "freshness" }), conditions: ["above"], threshold: 900, every: "hour" },
];

const isBucket = (group: unknown): boolean => typeof group === "string" && group.startsWith(TIME) && !group.includes("_of_");

/** Whether only the dimension `currency` keeps amounts of several currencies apart: a total has none. */
const needsCurrency = ({ dimensions }: Question, term: Term): boolean =>
  dimensions.includes("currency") && typeof term !== "string" && Object.hasOwn(moreTexts.explore.ofMoney, term.metric) && !term.currency;

/** A question of Explore without its buckets of time, which the alert has itself; null where its total would add several currencies. */
export function watchOfQuestion(question: Question, currencies: string[] = []): Watch | null {
  if (currencies.length !== 1 && question.metrics.some((term) => needsCurrency(question, term))) return null;
  const metrics = question.metrics.map((term) => (typeof term !== "string" && needsCurrency(question, term) ? { ...term, currency: currencies[0] } : term));
  return { metricsQuery: membersOf(tidied({ ...question, metrics, dimensions: groupsOf(question) })) };
}

/** The same of a custom query. */
export function watchOfCustom(body: unknown): Watch | null {
  if (!isRecord(body) || !isRecord(body.query)) return null;
  const { groupBy, orderBy: _, ...query } = body.query;
  return { customQuery: { query: { ...query, groupBy: Array.isArray(groupBy) ? groupBy.filter((group) => !isBucket(group)) : [] } } };
}

/** What a saved exploration asks; null where the page cannot read it. */
function watchOf(metricsQuery: unknown, customQuery: unknown): Watch | null {
  const question = metricsQuery ? questionOf(metricsQuery) : null;
  return question ? watchOfQuestion(question) : watchOfCustom(customQuery);
}

/** The columns with a number, by their words. */
export function columnsOfWatch({ metricsQuery, customQuery }: Watch, known: Pick<AlertKnown, "goals">): { name: string; label: string }[] {
  const question = metricsQuery ? questionOf(metricsQuery) : null;
  if (question) return columnsOf(question.metrics).map((name, i) => ({ name, label: termText(question.metrics[i]!, known) }));
  const custom = customQuery ? explorationOf(customQuery) : null;
  return custom ? custom.selects.map((select) => ({ name: aliasOf(select), label: valueText(select) })) : [];
}

/** What the rows of the result stand for, besides buckets of time. */
export function groupsOfWatch({ metricsQuery, customQuery }: Watch): string[] {
  const question = metricsQuery ? questionOf(metricsQuery) : null;
  if (question) return groupsOf(question);
  return (customQuery ? explorationOf(customQuery) : null)?.groups.filter((group) => !isBucket(group)) ?? [];
}

/** The conditions that fit what is watched. */
export function conditionsOf(watch: Watch): readonly Condition[] {
  if (watch.signal) return ["above", "below"];
  return groupsOfWatch(watch).length || watch.standardQuery ? CONDITIONS : CONDITIONS.filter((each) => each !== "new");
}

/** An alert while it is edited; texts as they are typed. */
export interface Draft {
  name: string;
  watch: Watch;
  condition: Condition;
  threshold: string;
  against: Reference;
  every: BucketWidth;
  recipients: string;
  channels: string[];
  quietFrom: string;
  quietTo: string;
  recovery: boolean;
}

/** Of seconds people read minutes. */
const scaleOf = ({ signal }: Watch): number => (signal === "freshness" ? 60 : 1);
const typed = (threshold: number | null | undefined, watch: Watch): string => (threshold == null ? "" : String(threshold / scaleOf(watch)));

/** A new alert that tells oneself. */
export const draftOfPreset = ({ conditions, threshold, against = "previous", every }: Beginning, choice: Pick<Choice, "watch" | "threshold">, email: string): Draft => ({
  name: "", watch: choice.watch, condition: conditions[0]!, threshold: typed(choice.threshold ?? threshold, choice.watch), against, every,
  recipients: email, channels: [], quietFrom: "", quietTo: "", recovery: true,
});

export function draftOf({ name, metricsQuery, customQuery, standardQuery, signal, column, condition, threshold, against, every, quietHours, recovery, recipients, channels }: Alert): Draft {
  const watch = { metricsQuery, customQuery, standardQuery, signal, column };
  const [quietFrom = "", quietTo = ""] = quietHours?.split("-") ?? [];
  return {
    name, watch, condition: condition as Condition, threshold: typed(threshold, watch), against: against as Reference, every: every as BucketWidth, recipients: recipients.join(", "), channels, quietFrom, quietTo, recovery,
  };
}

/** The number that was typed; null where the default holds. */
export const thresholdOf = ({ threshold, watch, condition }: Pick<Draft, "threshold" | "watch" | "condition">): number | null =>
  (threshold.trim() === "" || !Object.hasOwn(THRESHOLDS, condition) ? null : Number(threshold) * scaleOf(watch));

export const addressesIn = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean);

/** What is watched as a condition needs it: only new rows have groups. */
function fittedTo(watch: Watch, condition: Condition): Watch {
  if (condition === "new") return watch;
  const question = watch.metricsQuery ? questionOf(watch.metricsQuery) : null;
  if (question?.dimensions.length) return { ...watch, metricsQuery: membersOf(tidied({ ...question, dimensions: [] })) };
  const query = watch.customQuery?.query;
  return isRecord(query) ? { ...watch, customQuery: { ...watch.customQuery, query: { ...query, groupBy: [] } } } : watch;
}

/** The body that saves it. */
export function bodyOfDraft(draft: Draft) {
  const { watch, condition, against, every, recipients, channels, quietFrom, quietTo, recovery } = draft;
  return {
    ...fittedTo(watch, condition), condition, threshold: thresholdOf(draft), against, every, recovery, channels, recipients: addressesIn(recipients),
    quietHours: quietFrom || quietTo ? `${quietFrom}-${quietTo}` : null,
  };
}

/** As if for ever. */
export const FOREVER = "9999-12-31T00:00:00.000Z";
export const MUTES = { hour: 1, day: 24, week: 7 * 24 };
/** Until when it is muted now; null when it is not. */
export const mutedUntil = ({ mutedUntil: until }: Pick<Alert, "mutedUntil">): string | null => (until && Date.parse(until) > Date.now() ? until : null);
export const isForever = (until: string): boolean => until.startsWith("9999");
