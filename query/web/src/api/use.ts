// Hooks: a value that is fetched, with its states.
import { useEffect, useRef, useState } from "preact/hooks";
import { endSession, subjectQuery } from "../app/session";
import { type Answer, answer, answerKey, type Ask } from "./ask";
import { RequestError } from "./request";
import type { QueryType } from "./types";

export interface Loaded<Value> {
  /** The last value; kept while a newer one is on its way. */
  value: Value | null;
  error: RequestError | null;
  loading: boolean;
  reload: () => void;
}

/** Runs `load` when `key` changes, and every `seconds`; a `null` key loads nothing. */
export function useLoaded<Value>(
  key: string | null,
  load: (aborted: AbortSignal) => Promise<Value>,
  seconds = 0,
): Loaded<Value> {
  const [state, setState] = useState<Omit<Loaded<Value>, "reload">>({
    value: null, error: null, loading: key !== null,
  });
  const [round, setRound] = useState(0);
  const lastKey = useRef<string | null>(null);
  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    const again = lastKey.current === key;
    lastKey.current = key;
    if (!again) setState(({ value }) => ({ value, error: null, loading: true }));
    load(abort.signal).then(
      (value) => abort.signal.aborted || setState({ value, error: null, loading: false }),
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const known = error instanceof RequestError ? error : new RequestError(0, "FAILED", String(error));
        if (known.status === 401) endSession();
        setState({ value: null, error: known, loading: false });
      },
    );
    return () => abort.abort();
  }, [key, round]);
  useEffect(() => {
    if (!seconds) return;
    const timer = setInterval(() => document.hidden || setRound((n) => n + 1), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return { ...state, reload: () => setRound((n) => n + 1) };
}

/** The answer to a standard query under the time range and filters of the page; `null` asks nothing. */
export function useAnswer<Name extends QueryType>(ask: Ask<Name> | null, seconds = 0): Loaded<Answer<Name>> {
  const known = ask?.link || subjectQuery.value.website_id; // nothing is open while a sign-in ends
  const key = ask && known ? answerKey(ask) : null;
  return useLoaded(key, (aborted) => answer(ask!, aborted), seconds);
}
