// The list of views.
import { useLayoutEffect, useRef } from "preact/hooks";
import { isShared, me } from "../api/session";
import { address, addressWith, follow } from "../state/address";
import { type View, VIEWS } from "../state/views";
import { texts } from "../texts";

const DIGITS = "1234567890";

export function shownViews(): View[] {
  const shared = isShared();
  const scopes = me.value?.scopes ?? [];
  return VIEWS.filter((view) => !view.hidden && (!shared || view.shared) && (!view.scope || scopes.includes(view.scope)));
}

/** Views by their keys, the same whoever is signed in and on shared dashboards. */
const KEYED = new Map(VIEWS.filter((view) => !view.hidden).map(({ id, key }, at) => [key ?? DIGITS[at]!, id]));

/** The key that opens a view: its own, or its place among the views. */
export const keyOf = (id: string): string => [...KEYED].find(([, each]) => each === id)![0];

/** The view that a key opens, if it is shown. */
export const viewOfKey = (key: string): View | undefined => shownViews().find(({ id }) => id === KEYED.get(key));

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
          {views.map((view) => <Entry key={view.id} view={view} current={view.id === current} />)}
        </div>
      ))}
    </nav>
  );
}

function Entry({ view: { id, label }, current }: { view: View; current: boolean }) {
  const key = keyOf(id);
  return (
    <a href={addressWith({ view: id, item: "", own: {} })} onClick={follow} aria-current={current ? "page" : undefined}
      aria-keyshortcuts={key} data-key={key} title={texts.keyboard.opens(label, key)}>{label}</a>
  );
}
