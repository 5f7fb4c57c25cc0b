// Values of fields with the visitors who had them in the time range of the page, as suggestions.
import { useEffect, useState } from "preact/hooks";
import { pageMembers } from "../api/ask";
import { address } from "../state/address";
import { GROUPS } from "../state/breakdowns";
import { kindOfField } from "../state/dimensions";
import { shownValue } from "../state/filter_values";
import { daysOf } from "../state/period";
import { isRecord, parseJson } from "../state/filters";
import type { Schemas } from "../types";
import { useGoals } from "./saved_goals";
import { fetchJson } from "../api/request";
import { useSegments } from "./segments";
import { isShared, subjectQuery, timezone } from "../api/session";
import { useAnswer, useLoaded } from "../api/use";

export interface Suggestion {
  value: string;
  /** Visitors; null where they are not counted. */
  visitors: number | null;
  note?: string;
}

interface Suggestions {
  /** All that are known of the field, frequent ones first. */
  known: Suggestion[];
  /** Those that contain the text, in their stored or their shown form. */
  found: Suggestion[];
  loading: boolean;
}

/** Fields of what visitors did, by the field of events whose values are suggested. */
const GROUPED: Record<string, string> = { "did.path": "path", "did.event": "name" };
const MOST = 100;
/** Pause after which typing counts as finished. */
const TYPING_MS = 250;

/** Values that contain a text; a `null` field asks for none. */
export function useSuggestions(field: string | null, text: string): Suggestions {
  const grouped = field === null ? null : GROUPED[field] ?? field;
  const isCounted = grouped !== null && grouped !== "segment" && grouped !== "did.goal" && !grouped.startsWith("traits.") && kindOfField(grouped) !== "instant";
  const shown = useBreakdown(isCounted && isShared() ? grouped : null);
  const counted = useValues(isCounted && !isShared() ? grouped : null, "");
  const saved = useSaved(field);
  const known = saved ?? (isShared() ? shown.list : counted.list) ?? [];
  const settled = useSettled(text.trim());
  // What is rare is asked for: the most frequent values are here already.
  const isCut = isCounted && !isShared() && known.length === MOST;
  const more = useValues(isCut && settled ? grouped : null, settled);
  const found = matching(field ?? "", known, text);
  const added = (settled === text.trim() ? more.list ?? [] : []).filter(({ value }) => !found.some((each) => each.value === value));
  const isAsking = isCut && text.trim() !== "" && (settled !== text.trim() || more.loading);
  return { known, found: [...found, ...added], loading: (isShared() ? shown.loading : counted.loading) || isAsking };
}

function matching(field: string, known: Suggestion[], text: string): Suggestion[] {
  const wanted = text.trim().toLowerCase();
  return known.filter(({ value }) => `${value}\n${shownValue(field, value)}`.toLowerCase().includes(wanted));
}

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

interface Values {
  list: Suggestion[] | null;
  loading: boolean;
}

/** The most frequent values of a field, or of those that contain a text; the API compares letters with their case. */
function useValues(field: string | null, part: string): Values {
  const spellings = [...new Set([part, part.toLowerCase(), part.charAt(0).toUpperCase() + part.slice(1)])];
  const filters = part ? [{ or: spellings.map((value) => ({ field, operator: "contains", value })) }] : [];
  const body = {
    metrics: ["visitors"], dimensions: [field], limit: MOST, ...pageMembers(), ...(filters.length ? { filters } : {}),
  };
  const { value, loading } = useLoaded(field && JSON.stringify([subjectQuery.value, body]), (signal) =>
    fetchJson<Schemas["MetricsResponse"]>("/v1/query/metrics", { query: subjectQuery.value, body, signal }));
  const rows = (value?.data ?? []) as Record<string, unknown>[];
  const list = rows.flatMap((row) => {
    const each = row[field!];
    return each === null || each === undefined ? [] : [{ value: String(each), visitors: Number(row.visitors) }];
  });
  return { list: value && list, loading };
}

/** The same on a shared dashboard, which has the breakdowns of the overview only. */
function useBreakdown(field: string | null): Values {
  const breakdown = GROUPS.flatMap(({ breakdowns }) => breakdowns).find(({ searched }) => searched === field);
  const { value, loading } = useAnswer(breakdown ? { name: breakdown.type, options: { limit: MOST } } : null);
  const rows = (value?.rows ?? []) as Record<string, unknown>[];
  const list = rows.map((row) => ({ value: String(row[breakdown!.name] ?? ""), visitors: Number(row[breakdown!.value]) }));
  return { list: value && list.filter((each) => each.value), loading };
}

/** What is saved under names: goals and segments. */
function useSaved(field: string | null): Suggestion[] | null {
  const goals = useGoals(field === "did.goal").value;
  const segments = useSegments(field === "segment").value;
  const list = field === "did.goal" ? goals : field === "segment" ? segments : null;
  if (field !== "did.goal" && field !== "segment") return null;
  return (list ?? []).map((each) => ({ value: each.name, visitors: null, note: "description" in each ? each.description ?? undefined : undefined }));
}

export interface Property {
  field: string;
  isNumeric: boolean;
  /** Names of the events that have it. */
  events: string[];
}

/** The properties of custom events in the time range, frequent ones first. */
export function useProperties(): Property[] {
  const { start, end } = daysOf(address.value.period, timezone.value);
  const { value } = useAnswer(isShared() ? null : {
    name: "custom_events_property_classification", fixed: true, options: { start_date: start, end_date: end },
  });
  const properties = new Map<string, Property>();
  for (const { property_key: key, event_name: event, inferred_type: type } of value?.rows ?? []) {
    const field = `properties.${key}`;
    const before = properties.get(field);
    properties.set(field, { field, isNumeric: type === "numeric" && before?.isNumeric !== false, events: [...before?.events ?? [], event] });
  }
  return [...properties.values()];
}

/** Names of traits that the latest visitors have. */
export function useTraits(): string[] {
  const { start, end } = daysOf(address.value.period, timezone.value);
  const { value } = useAnswer(isShared() ? null : {
    name: "profile_list", fixed: true, options: { start_date: start, end_date: end, limit: MOST },
  });
  const traits = (value?.rows ?? []).map((row) => parseJson(row.traits ?? ""));
  return [...new Set(traits.flatMap((each) => (isRecord(each) ? Object.keys(each) : [])))].map((name) => `traits.${name}`);
}
