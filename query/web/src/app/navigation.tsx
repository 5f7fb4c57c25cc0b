// The list of views.
import { useLayoutEffect, useRef } from "preact/hooks";
import { texts } from "../texts";
import { address, addressWith } from "./address";
import { isShared, me } from "./session";
import { follow } from "./top_bar";
import { type View, VIEWS } from "./views";

const KEYS = 9;

export function shownViews(): View[] {
  const shared = isShared();
  const scopes = me.value?.scopes ?? [];
  return VIEWS.filter((view) => !view.hidden && (!shared || view.shared) && (!view.scope || scopes.includes(view.scope)));
}

/** The key that opens the view at a position of the list; undefined for the ones after the ninth. */
export const keyOf = (at: number): string | undefined => (at < KEYS ? String(at + 1) : undefined);

export function Navigation() {
  const shown = shownViews();
  const groups = Object.entries(texts.viewGroups)
    .map(([id, label]) => ({ label, views: shown.filter((view) => view.group === id) }))
    .filter(({ views }) => views.length);
  const frame = useRef<HTMLElement>(null);
  const current = address.value.view === "list" ? "overview" : address.value.view;
  useLayoutEffect(() => {
    const entry = frame.current?.querySelector<HTMLElement>("[aria-current]");
    // On a phone the list is one line that scrolls.
    if (entry) frame.current!.scrollLeft = entry.offsetLeft - (frame.current!.clientWidth - entry.offsetWidth) / 2;
  }, [current, me.value]);
  return (
    <nav ref={frame} class="side" aria-label={texts.app.menu}>
      {groups.map(({ label, views }) => (
        <div key={label}>
          <span class="side-group">{label}</span>
          {views.map((view) => <Entry key={view.id} view={view} at={shown.indexOf(view)} current={view.id === current} />)}
        </div>
      ))}
    </nav>
  );
}

function Entry({ view: { id, label }, at, current }: { view: View; at: number; current: boolean }) {
  const key = keyOf(at);
  return (
    <a href={addressWith({ view: id, item: "", own: {} })} onClick={follow} aria-current={current ? "page" : undefined}
      aria-keyshortcuts={key} data-key={key} title={key && texts.keyboard.opens(label, key)}>{label}</a>
  );
}
