// A button that opens a panel beside it, in the top layer of the browser; on a phone menus are sheets at the lower edge.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

const MARGIN = 8;
/** Where styles make sheets of panels. */
const PHONE = "(max-width: 719px)";

interface Props {
  label: ComponentChildren;
  /** Read aloud instead of the label. */
  name?: string;
  className?: string;
  /** Class of the panel. */
  panel?: string;
  disabled?: boolean;
  /** Called with keys pressed in the panel, before arrows move the focus. */
  onKey?: (event: KeyboardEvent, close: () => void) => void;
  /** The content; drawn only while the panel is open. */
  children: (close: () => void) => ComponentChildren;
}

export function Popover({ label, name, className = "button", panel = "menu", disabled, onKey, children }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  useEffect(() => (open && button.current && content.current ? keepPlaced(button.current, content.current) : undefined), [open]);
  const close = () => content.current?.hidePopover();
  const toggled = (event: Event) => {
    const opens = (event as ToggleEvent).newState === "open";
    setOpen(opens);
    if (opens) requestAnimationFrame(() => content.current && focusFirst(content.current));
  };
  const pressed = (event: KeyboardEvent) => {
    if (!(event.target as Element).matches("input:not([type=checkbox]), textarea, select")) onKey?.(event, close);
    if (!event.defaultPrevented) moveFocus(event);
  };
  return (
    <>
      <button ref={button} type="button" class={className} popovertarget={id} aria-label={name} title={name}
        aria-expanded={open} disabled={disabled}>
        {label}
      </button>
      <div ref={content} id={id} popover="auto" class={`popover ${panel}`} onToggle={toggled} onKeyDown={pressed}>
        {open && children(close)}
      </div>
    </>
  );
}

/** Keeps a panel at its anchor while its content or the window changes; the returned function ends it. */
export function keepPlaced(anchor: HTMLElement, panel: HTMLElement): () => void {
  const again = () => place(anchor, panel);
  const sizes = new ResizeObserver(again);
  sizes.observe(panel);
  addEventListener("resize", again);
  again();
  return () => {
    sizes.disconnect();
    removeEventListener("resize", again);
  };
}

/** Below the anchor, or above it where there is more room; always inside of the window. */
function place(anchor: HTMLElement, panel: HTMLElement): void {
  const isSheet = matchMedia(PHONE).matches && !panel.classList.contains("note");
  panel.style.left = "";
  panel.style.top = "";
  if (isSheet) return; // by its style
  const at = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = panel;
  const below = at.bottom + MARGIN / 2;
  const fits = below + height + MARGIN <= innerHeight || at.top < innerHeight - at.bottom;
  const left = Math.min(Math.max(at.left, MARGIN), document.documentElement.clientWidth - width - MARGIN); // beside the scroll bar
  panel.style.left = `${Math.max(left, MARGIN)}px`;
  const top = Math.min(fits ? below : at.top - height - MARGIN / 2, innerHeight - height - MARGIN);
  panel.style.top = `${Math.max(top, MARGIN)}px`;
}

function focusFirst(panel: HTMLElement): void {
  const first = (selector: string) => panel.querySelector<HTMLElement>(selector);
  (first("[autofocus], [aria-pressed=true]") ?? first("button, input, select, a"))?.focus();
}

/** Arrow keys move between the items of a menu; Home and End go to the first and the last one. */
function moveFocus(event: KeyboardEvent): void {
  const by = { ArrowDown: 1, ArrowUp: -1, Home: 0, End: 0 }[event.key];
  const panel = event.currentTarget as HTMLElement;
  const target = event.target as HTMLElement;
  if (by === undefined || !panel.classList.contains("menu") || target.closest("input, select, textarea, calendar-range, calendar-date")) return;
  const items = [...panel.querySelectorAll<HTMLElement>("button:not(:disabled), a")].filter((each) => each.checkVisibility());
  const next = event.key === "Home" ? 0 : event.key === "End" ? -1 : items.indexOf(document.activeElement as HTMLElement) + by;
  items.at(next === items.length ? 0 : next)?.focus();
  event.preventDefault();
  event.stopPropagation();
}

/** One choice of several in a popover; `keys` chooses it as well. */
export function MenuItem({ chosen, disabled, keys, onClick, children }: {
  chosen?: boolean;
  disabled?: boolean;
  keys?: string;
  onClick: () => void;
  children: ComponentChildren;
}) {
  return (
    <button type="button" class="menu-item" aria-pressed={chosen} aria-keyshortcuts={keys} disabled={disabled} onClick={onClick}>
      {children}{keys && <kbd aria-hidden="true">{keys.toUpperCase()}</kbd>}
    </button>
  );
}
