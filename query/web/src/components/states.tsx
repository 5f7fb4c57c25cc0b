// What a card shows while it has no rows: loading, empty, failed, not permitted.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { RequestError } from "../api/request";
import { me, roleHere } from "../api/session";
import { isReachable, type Loaded } from "../api/use";
import { address } from "../state/address";
import { texts } from "../texts";

const t = texts.states;

/**
 * Draws the value of `loaded`, or its state instead; `lines` is the height of the skeleton. While the value of another
 * question is on its way, the part stays as high as it was, and the focus stays in it.
 */
export function Async<Value>({ loaded, lines = 6, isEmpty, empty, children }: {
  loaded: Loaded<Value>;
  lines?: number;
  isEmpty?: (value: Value) => boolean;
  empty?: ComponentChildren;
  children: (value: Value) => ComponentChildren;
}) {
  const { value, error, reload } = loaded;
  const waits = value === null && !error;
  const { frame, height } = useReplaced(waits);
  return (
    <div ref={frame} class={waits && height ? "replaced" : undefined} aria-busy={waits} style={{ minHeight: waits && height ? `${height}px` : "" }}>
      {error ? <Failed error={error} retry={reload} />
        : value === null ? <Skeleton lines={lines} />
          : isEmpty?.(value) ? <Empty text={empty} /> : children(value)}
    </div>
  );
}

/**
 * The frame of a part whose content is removed while it waits: its height, and the control in it that has the focus, which the
 * control of the same name gets as soon as there is one.
 */
function useReplaced(waits: boolean) {
  const frame = useRef<HTMLDivElement>(null);
  const last = useRef<{ waits: boolean; height: number; control: HTMLElement | null }>({ waits, height: 0, control: null });
  if (waits && !last.current.waits) { // what is replaced is still in the document
    const { activeElement: control } = document;
    last.current.height = frame.current?.offsetHeight ?? 0;
    last.current.control = control instanceof HTMLElement && frame.current?.contains(control) ? control : null;
  }
  last.current.waits = waits;
  useLayoutEffect(() => {
    const { current: drawn } = frame;
    const { control } = last.current;
    if (!drawn || !control) return;
    if (waits) {
      drawn.tabIndex = -1;
      drawn.focus({ preventScroll: true });
      return;
    }
    last.current.control = null;
    if (document.activeElement === drawn) namedAs(control, drawn)?.focus({ preventScroll: true });
  }, [waits]);
  return { frame, height: last.current.height };
}

/** The control within `part` that has the title or the text of another one. */
const namedAs = ({ title, textContent }: HTMLElement, part: HTMLElement): HTMLElement | undefined =>
  [...part.querySelectorAll<HTMLElement>("button, a")].find((each) => (title && each.title === title) || each.textContent === textContent);

export function Skeleton({ lines }: { lines: number }) {
  return (
    <div class="skeleton" role="status" aria-label={t.loading}>
      {Array.from({ length: lines }, (_, i) => <span key={i} style={{ width: `${92 - ((i * 37) % 60)}%` }} />)}
    </div>
  );
}

/** A text for when there is nothing at all; with filters, the usual one says that nothing matches them. */
export const unlessFiltered = (text: string): string | undefined => (address.value.filters.length ? undefined : text);

export function Empty({ text }: { text?: ComponentChildren }) {
  return <p class="empty">{text ?? (address.value.filters.length ? t.emptyFiltered : t.empty)}</p>;
}

export function Failed({ error, retry }: { error: RequestError; retry?: () => void }) {
  if (error.code === "UNREACHABLE" && !isReachable.value) return <Empty text={t.unanswered} />;
  return (
    <div class="failed" role="alert">
      <p>{isOwnWords(error) ? `${t.failed} ${error.message}` : messageOf(error)}</p>
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
  if (lacksScope(error)) return forbiddenText();
  if (error.status === 403) return `${t.forbidden} ${error.message}`;
  if (error.status === 429) return t.limited(error.retryAfter ?? 60);
  return isOwnWords(error) ? error.message : `${t.failed} ${error.message}`;
}

/** Refusals whose message stands for itself where somebody sent a form. */
const isOwnWords = ({ status }: RequestError): boolean => status === 400 || status === 409;

/** Whether a person was refused because of the role, which the service says in scopes. */
export const lacksScope = ({ status, message }: RequestError): boolean =>
  status === 403 && Boolean(me.value?.person) && message.startsWith("Your role lacks the scope ");

/** Why something is not shown: to people their role, to the holder of a key the scope. */
export function forbiddenText(scope = ""): string {
  if (!me.value?.person) return t.forbiddenScope(scope);
  const role = roleHere();
  return role ? t.forbiddenRole(texts.app.roles[role] ?? role) : t.noRole;
}
