// Standard queries: all that are asked while one view is drawn go in one request, and each is answered
// as soon as its line of the response arrives.
import { address, comparison } from "../state/address";
import { goesOn, isNamed, periodMembers } from "../state/period";
import type { QueryType, Row, Schemas } from "../types";
import { noteFreshness } from "./freshness";
import { RequestError, send } from "./request";
import { isShared, subjectQuery, timezone } from "./session";

export interface Ask<Name extends QueryType> {
  name: Name;
  /** Members of the query beside the time range and the filters of the page. */
  options?: Record<string, unknown>;
  /** Whether the query is compared, when the page compares. */
  compared?: boolean;
  /** Filters beside the page's. */
  filters?: Schemas["Filter"][];
  /** Whether the query has its own time range, or this preset: the page's time range and filters are left out. */
  fixed?: boolean | string;
  /** The short link that is asked about, instead of the website. */
  link?: string;
}

export interface ComparedRow {
  previous: Record<string, unknown> | null;
  change: Record<string, number | null>;
  changePercent: Record<string, number | null>;
}

export interface Answer<Name extends QueryType> {
  rows: Row<Name>[];
  total: number;
  partialBucket: string | null;
  annotations: Schemas["SeriesAnnotation"][];
  warnings: Schemas["ResultWarning"][];
  comparison: { start: string | null; end: string | null; rows: ComparedRow[] } | null;
}

type Outcome = Schemas["QueryOutcome"];
/** A line of a streamed response: an outcome, or at the end what all have in common. */
type Line = Outcome | { parameter?: undefined; meta?: Schemas["StandardMeta"]; error?: string; code?: string };

interface Waiting {
  /** The parameter of the request, as JSON: several that are the same are asked once. */
  parameter: string;
  resolve: (outcome: Outcome) => void;
  reject: (error: unknown) => void;
  aborted: AbortSignal;
}

/** Waiting queries by what their request has in common. */
const waiting = new Map<string, Waiting[]>();

/** The body of the request that asks one query alone; for `RequestDialog`. */
export function bodyOf(ask: Ask<QueryType>): Record<string, unknown> {
  return { ...commonMembers(ask), parameters: [parameterOf(ask)] };
}

/** The request of one query alone, as the page would send it now. */
export interface StandardRequest {
  query: Record<string, string>;
  body: Record<string, unknown>;
  parameter: Record<string, unknown>;
}

export const requestOf = (ask: Ask<QueryType>): StandardRequest =>
  ({ query: ask.link ? { link_id: ask.link } : subjectQuery.value, body: commonMembers(ask), parameter: parameterOf(ask) });

export function answer<Name extends QueryType>(ask: Ask<Name>, aborted: AbortSignal): Promise<Answer<Name>> {
  const { query, body, parameter } = requestOf(ask);
  const common = JSON.stringify([query, body]);
  const outcome = new Promise<Outcome>((resolve, reject) => {
    if (!waiting.size) queueMicrotask(flush);
    waiting.set(common, [...(waiting.get(common) ?? []), { parameter: JSON.stringify(parameter), resolve, reject, aborted }]);
  });
  return outcome.then((each) => readAnswer<Name>(each));
}

function commonMembers(ask: Ask<QueryType>): Record<string, unknown> {
  if (ask.fixed) return { preset: ask.fixed === true ? "today" : ask.fixed, timezone: timezone.value };
  const { filters } = address.value;
  return { ...pageMembers(), ...(ask.link ? {} : filters.length ? { filters } : {}) };
}

/** What every request says of the page beside its filters: the time range, and whether bots count. */
export function pageMembers(): Record<string, unknown> {
  const { period, bots } = address.value;
  return { ...periodMembers(period, timezone.value), timezone: timezone.value, ...(bots && !isShared() ? { include_bots: true } : {}) };
}

function parameterOf(ask: Ask<QueryType>): Record<string, unknown> {
  const { compare } = address.value;
  return {
    name: ask.name,
    ...ask.options,
    ...(ask.filters?.length ? { filters: ask.filters } : {}),
    ...(isCompared(ask) ? { compare: comparedWith(compare) } : {}),
  };
}

/** Whether the answer to a query has changes. */
export const isCompared = (ask: Ask<QueryType>): boolean => Boolean(ask.compared) && comparison.value !== "none";

/** Days that are not over are compared with the same part; a preset is so by itself. */
export function comparedWith(compare: string): unknown {
  const [startDate, endDate] = compare.split("..");
  if (endDate) return { to: { startDate, endDate } };
  const { period } = address.value;
  return !isNamed(period) && goesOn(period, timezone.value) ? { to: compare, untilNow: true } : compare;
}

function flush(): void {
  const groups = [...waiting];
  waiting.clear();
  for (const [common, queries] of groups) void run(JSON.parse(common), queries);
}

async function run([query, body]: [Record<string, string>, object], queries: Waiting[]): Promise<void> {
  const abort = new AbortController();
  const left = new Set(queries);
  const asked = [...new Set(queries.map(({ parameter }) => parameter))];
  const drop = (each: Waiting) => {
    left.delete(each);
    if (!left.size) abort.abort();
  };
  for (const each of queries) each.aborted.addEventListener("abort", () => drop(each));
  try {
    const response = await send("/v1/query", {
      body: { ...body, parameters: asked.map((each, i) => ({ ...JSON.parse(each), id: String(i) })) },
      query: { ...query, stream: "true" },
      signal: abort.signal,
    });
    for await (const line of lines(response)) {
      if (line.parameter === undefined) {
        if (line.meta) noteFreshness(line.meta);
        else throw new RequestError(503, line.code ?? "", line.error ?? "");
        return;
      }
      const answered = [...left].filter(({ parameter }) => parameter === asked[Number(line.parameter)]);
      for (const each of answered) {
        left.delete(each);
        each.resolve(line);
      }
    }
    throw new RequestError(0, "UNREACHABLE", "");
  } catch (error) {
    for (const each of left) each.reject(error);
  }
}

async function* lines(response: Response): AsyncGenerator<Line> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value = "" } = await reader.read();
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part) yield JSON.parse(part);
    if (done) return;
  }
}

function readAnswer<Name extends QueryType>(outcome: Outcome): Answer<Name> {
  if (!outcome.success) throw new RequestError(400, outcome.code ?? "", outcome.error ?? "");
  return {
    rows: outcome.data as Row<Name>[],
    total: outcome.meta?.totalRows ?? outcome.data.length,
    partialBucket: outcome.meta?.partialBucket ?? null,
    annotations: outcome.meta?.annotations ?? [],
    warnings: outcome.meta?.warnings ?? [],
    comparison: (outcome.comparison as unknown as Answer<Name>["comparison"]) ?? null,
  };
}

/** A text that differs whenever the answer may differ. */
export const answerKey = (ask: Ask<QueryType>): string =>
  JSON.stringify([subjectQuery.value, ask.link, bodyOf(ask)]);
