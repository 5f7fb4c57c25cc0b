// The filters of the page as chips that read as sentences, and the panel that makes and changes them.
import { useState } from "preact/hooks";
import { shared } from "../api/session";
import { address, go } from "../state/address";
import { formatFilter } from "../state/filters";
import { texts } from "../texts";
import { filterText } from "./filter_text";
import { Icon } from "./icon";
import { lazy } from "./lazy";

const t = texts.filters;
const FilterPanel = lazy(() => import("./filter_panel"));

/** The panel that is open: at a filter or a new one, beside the button that opened it. */
interface Opened {
  at: number | null;
  anchor: HTMLElement;
}

export function FilterBar() {
  const { filters } = address.value;
  const [opened, setOpened] = useState<Opened | null>(null);
  const open = (at: number | null) => (event: Event) => setOpened({ at, anchor: event.currentTarget as HTMLElement });
  return (
    <div class="filters" role="group" aria-label={t.label}>
      <FixedChips />
      {filters.map((filter, at) => {
        const text = filterText(filter);
        return (
          <span key={formatFilter(filter)} class="chip">
            <button type="button" class="chip-text" aria-haspopup="dialog" title={t.edit(text)} onClick={open(at)}>{text}</button>
            <button type="button" class="chip-remove" aria-label={t.remove(text)} onClick={() => go({ filters: filters.filter((_, i) => i !== at) })}><Icon name="x" size={14} /></button>
          </span>
        );
      })}
      <button type="button" class="button add-filter" id="add-filter" aria-haspopup="dialog" onClick={open(null)}>
        <Icon name="list-filter" /> <span>{t.add}</span>
      </button>
      {filters.length > 1 && (
        <button type="button" class="quiet-button" onClick={() => go({ filters: [] })}>{t.clear}</button>
      )}
      {opened && <FilterPanel {...opened} close={() => setOpened(null)} />}
    </div>
  );
}

/** The filters of a shared dashboard, which always apply. */
function FixedChips() {
  return shared.value?.filters.map((filter) => <span key={filterText(filter)} class="chip fixed">{filterText(filter)}</span>) ?? null;
}

/** The fixed filters alone, for a view that takes no others. */
export function FixedFilters() {
  if (!shared.value?.filters.length) return null;
  return <div class="filters" role="group" aria-label={t.label}><FixedChips /></div>;
}
