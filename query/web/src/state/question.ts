// A question in the metrics language, as Explore asks it, and its form in the address.
import type { Schemas } from "../types";
import { type Filter, isFilter, isRecord, parseJson } from "./filters";
import { type BucketWidth, defaultGranularity, fitsBuckets, type Period } from "./period";

/** A metric by its name, or one with arguments. */
export type Term = string | ({ metric: string } & Partial<Schemas["MetricTerm"]>);
export type Order = Schemas["OrderTerm"];

export interface Question {
  metrics: Term[];
  /** `segment` among them, as the last, where there are segments. */
  dimensions: string[];
  /** Ids or names of segments side by side, null for all visitors. */
  segments: (string | null)[];
  /** Filters beside the page's. */
  filters: Filter[];
  orderBy: Order[];
  limit: number;
  /** Members of a saved body that the page does not change. */
  further: Record<string, unknown>;
}

/** The metric of a formula over others; the name of one is its `as`. */
export const FORMULA = "formula";
export const isFormula = (term: Term): term is Exclude<Term, string> & { metric: typeof FORMULA } => typeof term !== "string" && term.metric === FORMULA;

export const NO_QUESTION: Question = { metrics: [], dimensions: [], segments: [], filters: [], orderBy: [], limit: 20, further: {} };
export const MOST_METRICS = 8;
export const MOST_DIMENSIONS = 2;
export const MOST_SEGMENTS = 5;
/** The dimension of segments side by side. */
export const SEGMENT = "segment";
export const TIME = "time:";
/** Buckets of the time range by their dimensions, with the words of the page for their width. */
export const BUCKETS: Record<string, BucketWidth> = {
  "time:minute": "minute", "time:quarter_hour": "quarter_hour", "time:hour": "hourly", "time:day": "daily", "time:week": "weekly",
  "time:sunday_week": "sunday_week", "time:month": "monthly", "time:quarter": "quarterly", "time:year": "yearly",
};
/** Of a body: what the page has itself, and sets anew. */
const OF_PAGE = ["startDate", "endDate", "preset", "timezone", "compare", "page", "asOf", "include_bots", "definitions"];
const FURTHER = ["having", "goals", "person"];

const isTerm = (value: unknown): value is Term => typeof value === "string" || (isRecord(value) && typeof value.metric === "string");
const isOrder = (value: unknown): value is Order => isRecord(value) && typeof value.field === "string";
const isListOf = (check: (value: unknown) => boolean) => (value: unknown): boolean => Array.isArray(value) && value.every(check);
const MEMBERS: Record<string, (value: unknown) => boolean> = {
  metrics: isListOf(isTerm),
  dimensions: isListOf((value) => typeof value === "string"),
  segments: isListOf((value) => value === null || typeof value === "string"),
  filters: isListOf((value) => isFilter(value)),
  orderBy: isListOf(isOrder),
  limit: (value) => value === null || (Number.isInteger(value) && (value as number) > 0),
};

/** The question of a body; null when it is none. */
export function questionOf(body: unknown): Question | null {
  if (!isRecord(body)) return null;
  const members = Object.entries(body).filter(([name]) => !OF_PAGE.includes(name));
  if (!members.every(([name, value]) => (Object.hasOwn(MEMBERS, name) ? MEMBERS[name]!(value) : FURTHER.includes(name)))) return null;
  const { metrics, dimensions, segments, filters, orderBy, limit, ...further } = Object.fromEntries(members) as unknown as Partial<Question>;
  return {
    metrics: metrics ?? [], ...groupedBy(dimensions ?? [], segments ?? []), filters: filters ?? [], orderBy: orderBy ?? [], limit: limit ?? NO_QUESTION.limit, further,
  };
}

/** The dimensions of rows with these segments. */
export const groupedBy = (dimensions: string[], segments: Question["segments"]): Pick<Question, "dimensions" | "segments"> =>
  ({ segments, dimensions: [...dimensions.filter((name) => name !== SEGMENT), ...(segments.length ? [SEGMENT] : [])] });

export const parseQuestion = (text: string): Question | null => questionOf(parseJson(text));

/** The members of a body, without those that have their defaults. */
export function membersOf({ metrics, dimensions, segments, filters, orderBy, limit, further }: Question) {
  const asked = dimensions.filter((name) => name !== SEGMENT);
  return {
    metrics,
    ...(asked.length ? { dimensions: asked } : {}),
    ...(segments.length ? { segments } : {}),
    ...(filters.length ? { filters: filters as Schemas["Filter"][] } : {}),
    ...(orderBy.length ? { orderBy } : {}),
    ...(limit === NO_QUESTION.limit ? {} : { limit }),
    ...further,
  };
}

export const formatQuestion = (question: Question): string => (question.metrics.length || question.dimensions.length ? JSON.stringify(membersOf(question)) : "");

/** The names of metrics in rows of the answer; what has none by `as` has that of the API. */
export function columnsOf(metrics: Term[]): string[] {
  const unnamed = (metric: string) => metrics.filter((term) => (typeof term === "string" ? term === metric : term.metric === metric && !term.as)).length;
  return metrics.map((term) => {
    if (typeof term === "string") return term;
    if (term.as) return term.as;
    if (term.property) return `${term.metric}_${term.property}`.replace(/\W/g, "_");
    const told = [term.goal, term.money, term.currency].filter(Boolean);
    return unnamed(term.metric) > 1 && told.length ? [term.metric, ...told].join("_").replace(/\W/g, "_").slice(0, 63) : term.metric;
  });
}

/** With a further metric: before the formulas, which may have those before them as operands. */
export function withMetric(metrics: Term[], term: Term): Term[] {
  const at = isFormula(term) ? -1 : metrics.findIndex(isFormula);
  return at < 0 ? [...metrics, term] : metrics.toSpliced(at, 0, term);
}

/** The bucket of time that rows are grouped by. */
export const bucketOf = ({ dimensions }: Question): string | undefined => dimensions.find((name) => Object.hasOwn(BUCKETS, name));
/** What rows are grouped by besides buckets of time. */
export const groupsOf = ({ dimensions }: Question): string[] => dimensions.filter((name) => !Object.hasOwn(BUCKETS, name));

/** With a width of buckets that the time range can have. */
export function fittedTo(question: Question, period: Period, timezone: string): Question {
  const bucket = bucketOf(question);
  if (!bucket || fitsBuckets(BUCKETS[bucket]!, period, timezone)) return question;
  const usual = Object.keys(BUCKETS).find((name) => BUCKETS[name] === defaultGranularity(period, timezone))!;
  const fitted = (name: string) => (name === bucket ? usual : name);
  return {
    ...question, dimensions: question.dimensions.map(fitted), orderBy: question.orderBy.map((order) => ({ ...order, field: fitted(order.field) })),
  };
}

/** Without an order by what is no longer there. */
export const tidied = (question: Question): Question => {
  const columns = [...question.dimensions, ...columnsOf(question.metrics)];
  return { ...question, orderBy: question.orderBy.filter(({ field }) => columns.includes(field)) };
};

export const SHAPES = ["number", "line", "bar", "table"] as const;
export type Shape = (typeof SHAPES)[number];

/** How the answer can be drawn: what fits best first. */
export function shapesOf(question: Question): Shape[] {
  if (!question.dimensions.length) return ["number", "table"];
  if (bucketOf(question) && question.dimensions.length <= MOST_DIMENSIONS) return ["line", "table"];
  if (question.dimensions.length === 1) return ["bar", "table"];
  return ["table", "bar"];
}
