// What a card shows while it has no rows: loading, empty, failed, not permitted.
import type { ComponentChildren } from "preact";
import type { RequestError } from "../api/request";
import { isReachable, type Loaded } from "../api/use";
import { address } from "../app/address";
import { texts } from "../texts";

const t = texts.states;

/** Draws the value of `loaded`, or its state instead; `lines` is the height of the skeleton. */
export function Async<Value>({ loaded, lines = 6, isEmpty, empty, children }: {
  loaded: Loaded<Value>;
  lines?: number;
  isEmpty?: (value: Value) => boolean;
  empty?: string;
  children: (value: Value) => ComponentChildren;
}) {
  const { value, error, loading, reload } = loaded;
  if (error) return <Failed error={error} retry={reload} />;
  if (value === null) return <Skeleton lines={lines} />;
  const nothing = isEmpty?.(value);
  return (
    <div class={loading ? "stale" : undefined} aria-busy={loading}>
      {nothing ? <Empty text={empty} /> : children(value)}
    </div>
  );
}

export function Skeleton({ lines }: { lines: number }) {
  return (
    <div class="skeleton" role="status" aria-label={t.loading}>
      {Array.from({ length: lines }, (_, i) => <span key={i} style={{ width: `${92 - ((i * 37) % 60)}%` }} />)}
    </div>
  );
}

/** A text for when there is nothing at all; with filters, the usual one says that nothing matches them. */
export const unlessFiltered = (text: string): string | undefined => (address.value.filters.length ? undefined : text);

export function Empty({ text }: { text?: string }) {
  return <p class="empty">{text ?? (address.value.filters.length ? t.emptyFiltered : t.empty)}</p>;
}

export function Failed({ error, retry }: { error: RequestError; retry?: () => void }) {
  if (error.code === "UNREACHABLE" && !isReachable.value) return <Empty text={t.unanswered} />;
  return (
    <div class="failed" role="alert">
      <p>{messageOf(error)}</p>
      {retry && error.status !== 403 && <button type="button" class="button" onClick={retry}>{t.retry}</button>}
    </div>
  );
}

/** Once above the cards, which only say that they have no answer. */
export function Unreachable({ retry }: { retry: () => void }) {
  if (isReachable.value) return null;
  return <p class="notice" role="alert">{t.unreachable} {t.triesAgain} <button type="button" class="button" onClick={retry}>{t.retry}</button></p>;
}

export function messageOf(error: RequestError): string {
  if (error.code === "UNREACHABLE") return t.unreachable;
  if (error.status === 403) return `${t.forbidden} ${error.message}`;
  if (error.status === 429) return t.limited(error.retryAfter ?? 60);
  return `${t.failed} ${error.message}`;
}
