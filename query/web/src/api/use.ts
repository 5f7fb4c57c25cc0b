// Hooks: a value that is fetched, with its states.
import { computed, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { QueryType } from "../types";
import { type Answer, answer, answerKey, type Ask } from "./ask";
import { RequestError } from "./request";
import { endSession, subjectQuery } from "./session";

export interface Loaded<Value> {
  /** The value of the key; kept while the same key is requested again, null while another one loads. */
  value: Value | null;
  error: RequestError | null;
  loading: boolean;
  reload: () => void;
}

/** Number of refreshes of the whole page. */
const refreshes = signal(0);
export const refresh = (): void => void refreshes.value++;

/** What is shown and was not answered because the service cannot be reached. */
const unanswered = signal<ReadonlySet<symbol>>(new Set());
export const isReachable = computed(() => unanswered.value.size === 0);

function noteAnswer(of: symbol, isAnswered: boolean): void {
  if (unanswered.value.has(of) !== isAnswered) return;
  const others = [...unanswered.value].filter((each) => each !== of);
  unanswered.value = new Set(isAnswered ? others : [...others, of]);
}

/**
 * Runs `load` when `key` changes, with each refresh, and every `seconds`; a `null` key loads nothing.
 * While the service does not answer, a known value of the key stays.
 */
export function useLoaded<Value>(
  key: string | null,
  load: (aborted: AbortSignal) => Promise<Value>,
  seconds = 0,
): Loaded<Value> {
  const [state, setState] = useState<Pick<Loaded<Value>, "value" | "error"> & { key: string | null }>({
    key: null, value: null, error: null,
  });
  const [round, setRound] = useState(0);
  const [id] = useState(() => Symbol(key ?? ""));
  useEffect(() => () => noteAnswer(id, true), [key]); // it is shown no more
  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    load(abort.signal).then(
      (value) => {
        if (abort.signal.aborted) return;
        noteAnswer(id, true);
        setState({ key, value, error: null });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const known = error instanceof RequestError ? error : new RequestError(0, "FAILED", String(error));
        if (known.status === 401) endSession();
        const isSilent = known.code === "UNREACHABLE";
        noteAnswer(id, !isSilent);
        setState((last) => (isSilent && last.key === key && last.value !== null ? last : { key, value: null, error: known }));
      },
    );
    return () => abort.abort();
  }, [key, round, refreshes.value]);
  useEffect(() => {
    if (!seconds) return;
    const timer = setInterval(() => document.hidden || setRound((n) => n + 1), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  // Of another key nothing is shown: its rows may have other fields, and its numbers stood under another heading.
  const { value, error } = state.key === key ? state : { value: null, error: null };
  const loading = key !== null && state.key !== key; // known while the change is drawn, before it is asked
  return { value, error, loading, reload: () => setRound((n) => n + 1) };
}

/** The value of `loaded` once the other one is there as well, or failed: for rows that show a part of a total. */
export const withTotal = <Value>(loaded: Loaded<Value>, total: Loaded<unknown>): Loaded<Value> =>
  total.value === null && !total.error ? { ...loaded, value: null } : loaded;

/** The answer to a standard query under the time range and filters of the page; `null` sends no request. */
export function useAnswer<Name extends QueryType>(ask: Ask<Name> | null, seconds = 0): Loaded<Answer<Name>> {
  const known = ask?.link || subjectQuery.value.website_id; // nothing is open while a sign-in ends
  const key = ask && known ? answerKey(ask) : null;
  return useLoaded(key, (aborted) => answer(ask!, aborted), seconds);
}
