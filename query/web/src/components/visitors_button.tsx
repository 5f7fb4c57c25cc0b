// The visitors behind a number, in a dialog or as the view of visitors; only the number on a shared dashboard, which shows no single visitors.
import type { ComponentChildren } from "preact";
import { isShared } from "../api/session";
import { address, addressWith, follow } from "../state/address";
import { type Filter, hasFilter } from "../state/filters";
import { texts } from "../texts";

export function VisitorsButton({ children, label, title, ...rest }: {
  children: ComponentChildren;
  open: () => void;
  /** Read aloud in place of the number. */
  label?: string;
  title?: string;
  class?: string;
  pressed?: boolean;
  disabled?: boolean;
}) {
  if (isShared()) return <span title={title}>{children}</span>;
  const { open, pressed, disabled } = rest;
  return (
    <button type="button" class={rest.class} aria-label={label} title={title} aria-pressed={pressed} disabled={disabled} onClick={open}>
      {children}
    </button>
  );
}

/** The view of visitors with the filters of the page, and one more. */
export function visitorsAddress(filter: Filter): string {
  const { filters } = address.value;
  return addressWith({ view: "visitors", item: "", own: {}, filters: hasFilter(filters, filter) ? filters : [...filters, filter] });
}

export function VisitorsLink({ filter, name, children }: {
  filter: Filter;
  /** Of what was counted. */
  name: string;
  children: ComponentChildren;
}) {
  if (isShared()) return <>{children}</>;
  return <a class="quiet-link" href={visitorsAddress(filter)} title={texts.breakdowns.visitorsOf(name)} onClick={follow}>{children}</a>;
}
