// The list of views.
import { texts } from "../texts";
import { address, addressWith } from "./address";
import { isShared, me } from "./session";
import { follow } from "./top_bar";
import { type View, VIEWS } from "./views";

export function shownViews(): View[] {
  const shared = isShared();
  const scopes = me.value?.scopes ?? [];
  return VIEWS.filter((view) => !view.hidden && (!shared || view.shared) && (!view.scope || scopes.includes(view.scope)));
}

export function Navigation() {
  const groups = Object.entries(texts.viewGroups)
    .map(([id, label]) => ({ label, views: shownViews().filter((view) => view.group === id) }))
    .filter(({ views }) => views.length);
  const current = address.value.view === "list" ? "overview" : address.value.view;
  return (
    <nav class="side" aria-label={texts.app.menu}>
      {groups.map(({ label, views }) => (
        <div key={label}>
          <span class="side-group">{label}</span>
          {views.map(({ id, label: name }) => (
            <a key={id} href={addressWith({ view: id, item: "", own: {} })} onClick={follow} aria-current={id === current ? "page" : undefined}>{name}</a>
          ))}
        </div>
      ))}
    </nav>
  );
}
