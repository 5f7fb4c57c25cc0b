// Opens the visitors behind a number; only the number on a shared dashboard, which shows no single visitors.
import type { ComponentChildren } from "preact";
import { isShared } from "../api/session";

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
