// The filters of the page as chips, the dialog that makes one, and saved segments.
import { useState } from "preact/hooks";
import { fetchJson } from "../api/request";
import { hasRecords, may, shared, subjectQuery } from "../api/session";
import { address, go } from "../state/address";
import { type Filter, negated } from "../state/filters";
import { texts } from "../texts";
import { ConfirmDialog } from "./confirm_dialog";
import { Dialog } from "./dialog";
import { FilterDialog } from "./filter_dialog";
import { filterText } from "./filter_text";
import { FormFooter } from "./form_footer";
import { formMessage } from "./form_message";
import { MenuItem, Popover } from "./popover";
import { useSegments } from "./segments";
import { Failed } from "./states";

const t = texts.filters;
const setFilters = (filters: Filter[]) => go({ filters });

/** The filter that is being made: at a position, or as an alternative to the one there. */
interface Editing {
  at: number | null;
  alternative?: boolean;
}

export function FilterBar() {
  const { filters } = address.value;
  const [editing, setEditing] = useState<Editing | null>(null);
  const [saving, setSaving] = useState(false);
  return (
    <div class="filters" role="group" aria-label={t.label}>
      <FixedChips />
      {filters.map((filter, i) => (
        <Chip key={filterText(filter)} filter={filter} at={i} edit={setEditing} />
      ))}
      <button type="button" class="button add-filter" id="add-filter" onClick={() => setEditing({ at: null })}>
        + {t.add}
      </button>
      {hasRecords() && <Segments save={filters.length ? () => setSaving(true) : null} />}
      {filters.length > 1 && (
        <button type="button" class="quiet-button" onClick={() => setFilters([])}>{t.clear}</button>
      )}
      {editing && <FilterDialog {...editing} close={() => setEditing(null)} />}
      {saving && <SaveSegment close={() => setSaving(false)} />}
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

function Chip({ filter, at, edit }: { filter: Filter; at: number; edit: (editing: Editing) => void }) {
  const { filters } = address.value;
  const text = filterText(filter);
  const others = filters.filter((_, i) => i !== at);
  const replaced = (other: Filter) => filters.map((each, i) => (i === at ? other : each));
  return (
    <span class="chip">
      <Popover label={text} className="chip-text">
        {(close) => (
          <>
            <MenuItem onClick={() => { close(); setFilters(replaced(negated(filter))); }}>{t.negate}</MenuItem>
            <MenuItem onClick={() => { close(); edit({ at, alternative: true }); }}>{t.alternative}</MenuItem>
            <MenuItem onClick={() => { close(); edit({ at }); }}>{t.edit("…").replace(": …", " …")}</MenuItem>
          </>
        )}
      </Popover>
      <button type="button" class="chip-remove" aria-label={t.remove(text)} onClick={() => setFilters(others)}>×</button>
    </span>
  );
}

interface Segment {
  id: string;
  name: string;
}

function Segments({ save }: { save: (() => void) | null }) {
  const [removed, setRemoved] = useState<Segment | null>(null);
  const remove = async ({ id }: Segment) => fetchJson<void>(`/v1/segments/${id}`, { method: "DELETE" });
  return (
    <>
      <Popover label={t.saved} className="button">
        {(close) => <SegmentList save={save} remove={setRemoved} close={close} />}
      </Popover>
      {removed && (
        <ConfirmDialog title={t.deleteSegment(removed.name)} text={t.confirmDelete(removed.name)} action={texts.goals.remove}
          run={() => remove(removed)} close={() => setRemoved(null)} />
      )}
    </>
  );
}

function SegmentList({ save, remove, close }: {
  save: (() => void) | null;
  remove: (segment: Segment) => void;
  close: () => void;
}) {
  const list = useSegments();
  const segments = list.value ?? [];
  const apply = (segment: string) => {
    close();
    setFilters([...address.value.filters, { segment }]);
  };
  return (
    <>
      {list.error && <Failed error={list.error} />}
      {list.value && !segments.length && <p class="quiet">{t.none}</p>}
      {segments.map(({ id, name, description }) => (
        <span key={id} class="menu-row">
          <MenuItem onClick={() => apply(name)}>{name}{description && <small>{description}</small>}</MenuItem>
          {may("manage:websites") && (
            <button type="button" class="chip-remove" aria-label={t.deleteSegment(name)} onClick={() => { close(); remove({ id, name }); }}>×</button>
          )}
        </span>
      ))}
      {save && may("manage:websites") && <MenuItem onClick={() => { close(); save(); }}>{t.save} …</MenuItem>}
    </>
  );
}

function SaveSegment({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [error, setError] = useState("");
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      const body = { name, filters: address.value.filters };
      await fetchJson("/v1/segments", { query: subjectQuery.value, body });
      close();
      setFilters([{ segment: name }]);
    } catch (problem) {
      setError(formMessage(problem, { name: t.saveName }));
    }
  };
  return (
    <Dialog title={t.save} close={close}>
      <form class="form" onSubmit={save}>
        <label>{t.saveName}<input required maxLength={255} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
        <p class="quiet">{t.saveHint}</p>
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={t.save} close={close} />
      </form>
    </Dialog>
  );
}
