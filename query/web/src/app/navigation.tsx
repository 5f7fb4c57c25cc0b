// The list of views.
import { isAll, isShared, may, mayEverywhere } from "../api/session";
import { Icon } from "../components/icon";
import { address, follow, viewAddress } from "../state/address";
import { type View, VIEWS } from "../state/views";
import { texts } from "../texts";

const DIGITS = "1234567890";

/** Whether the view is about what is open: one website, or all as one. */
export const isOfBase = ({ of }: View): boolean => !of || (of === "all") === isAll();

/** Whether a scope that the view needs is there. */
export const mayOpen = ({ scopes, ofWhole }: View): boolean => !scopes || scopes.some(ofWhole ? mayEverywhere : may);

export function shownViews(): View[] {
  const shared = isShared();
  return VIEWS.filter((view) => !view.hidden && isOfBase(view) && (!shared || view.shared) && mayOpen(view));
}

/** Views by their keys, the same whoever is signed in and on shared dashboards. */
const KEYED = new Map([
  ...VIEWS.filter(({ key, hidden }) => !key && !hidden).map(({ id }, at): [string, string] => [DIGITS[at]!, id]),
  ...VIEWS.flatMap(({ key, id }): [string, string][] => (key ? [[key, id]] : [])),
]);

/** The key that opens a view: its own, or its place among the views. */
export const keyOf = (id: string): string => [...KEYED].find(([, each]) => each === id)![0];

/** The view that a key opens, if it is shown. */
export const viewOfKey = (key: string): View | undefined => shownViews().find(({ id }) => id === KEYED.get(key));

/** In the rail, and below 1024 pixels in the menu of the bar. */
export function Navigation({ close }: { close?: () => void }) {
  const shown = shownViews();
  const groups = Object.entries(texts.viewGroups)
    .map(([id, label]) => ({ label, views: shown.filter((view) => view.group === id) }))
    .filter(({ views }) => views.length);
  const current = address.value.view === "list" ? "overview" : address.value.view;
  return (
    <nav class="side" aria-label={texts.app.menu}>
      {groups.map(({ label, views }) => (
        <div key={label}>
          <span class="side-group">{label}</span>
          {views.map((view) => <Entry key={view.id} view={view} current={view.id === current} close={close} />)}
        </div>
      ))}
    </nav>
  );
}

function Entry({ view: { id, label, icon }, current, close }: { view: View; current: boolean; close?: () => void }) {
  const key = keyOf(id);
  const open = (event: MouseEvent) => {
    follow(event);
    close?.();
  };
  return (
    <a href={viewAddress(id)} onClick={open} aria-current={current ? "page" : undefined}
      aria-keyshortcuts={key} data-key={key} title={texts.keyboard.opens(label, key)}><Icon name={icon} size={17} />{label}</a>
  );
}
