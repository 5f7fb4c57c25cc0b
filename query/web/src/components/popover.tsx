// A button that opens a panel beside it, in the top layer of the browser; it closes on Escape and on a click outside.
import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";

const MARGIN = 8;

interface Props {
  label: ComponentChildren;
  /** Read aloud instead of the label. */
  name?: string;
  className?: string;
  /** Class of the panel. */
  panel?: string;
  disabled?: boolean;
  /** The content; drawn only while the panel is open. */
  children: (close: () => void) => ComponentChildren;
}

export function Popover({ label, name, className = "button", panel = "menu", disabled, children }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const toggled = (event: Event) => {
    const opens = (event as ToggleEvent).newState === "open";
    setOpen(opens);
    if (opens) requestAnimationFrame(() => button.current && content.current && place(button.current, content.current));
  };
  return (
    <>
      <button ref={button} type="button" class={className} popovertarget={id} aria-label={name} title={name}
        aria-expanded={open} disabled={disabled}>
        {label}
      </button>
      <div ref={content} id={id} popover="auto" class={`popover ${panel}`} onToggle={toggled} onKeyDown={moveFocus}>
        {open && children(() => content.current?.hidePopover())}
      </div>
    </>
  );
}

/** Below the anchor, or above it where there is more room; always inside of the window. */
function place(anchor: HTMLElement, panel: HTMLElement): void {
  const at = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = panel;
  const below = at.bottom + MARGIN / 2;
  const fits = below + height + MARGIN <= innerHeight || at.top < innerHeight - at.bottom;
  const left = Math.min(Math.max(at.left, MARGIN), document.documentElement.clientWidth - width - MARGIN); // beside the scroll bar
  panel.style.left = `${Math.max(left, MARGIN)}px`;
  const top = Math.min(fits ? below : at.top - height - MARGIN / 2, innerHeight - height - MARGIN);
  panel.style.top = `${Math.max(top, MARGIN)}px`;
  const first = (selector: string) => panel.querySelector<HTMLElement>(selector);
  (first("[autofocus], [aria-pressed=true]") ?? first("button, input, select, a"))?.focus();
}

/** Arrow keys move between the items of a menu. */
function moveFocus(event: KeyboardEvent): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const panel = event.currentTarget as HTMLElement;
  if (!by || !panel.classList.contains("menu") || event.target instanceof HTMLInputElement) return;
  const items = [...panel.querySelectorAll<HTMLElement>("button:not(:disabled), a")];
  const next = items.indexOf(document.activeElement as HTMLElement) + by;
  items[(next + items.length) % items.length]?.focus();
  event.preventDefault();
  event.stopPropagation();
}

/** One choice of several in a popover. */
export function MenuItem({ chosen, disabled, onClick, children }: {
  chosen?: boolean;
  disabled?: boolean;
  onClick: () => void;
  children: ComponentChildren;
}) {
  return (
    <button type="button" class="menu-item" aria-pressed={chosen} disabled={disabled} onClick={onClick}>{children}</button>
  );
}
