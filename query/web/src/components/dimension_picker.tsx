// Chooses what a condition is about, from groups that a search narrows.
import { useState } from "preact/hooks";
import { isShared } from "../api/session";
import { DIMENSION_GROUPS, type DimensionGroup, SHARED_FIELDS } from "../state/dimensions";
import { texts } from "../texts";
import { fieldName } from "./filter_text";
import { Icon } from "./icon";
import { Popover } from "./popover";
import { type Property, useTraits } from "./suggestions";

const t = texts.filters;

export function DimensionPicker({ field, properties, choose }: {
  field: string;
  properties: Property[];
  choose: (field: string) => void;
}) {
  return (
    <Popover label={<><span>{fieldName(field)}</span><Icon name="chevron-down" /></>} name={`${t.field}: ${fieldName(field)}`} className="button dimension" panel="menu dimensions">
      {(close) => <Dimensions field={field} properties={properties} choose={(chosen) => { close(); choose(chosen); }} />}
    </Popover>
  );
}

function Dimensions({ field, properties, choose }: { field: string; properties: Property[]; choose: (field: string) => void }) {
  const [search, setSearch] = useState("");
  const traits = useTraits();
  const wanted = search.trim().toLowerCase();
  const isFound = (each: string) => `${fieldName(each)}\n${each}`.toLowerCase().includes(wanted);
  const groups = groupsOf(properties, traits, search.trim())
    .map((group) => ({ ...group, fields: t.groups[group.id]!.toLowerCase().includes(wanted) ? group.fields : group.fields.filter(isFound) }))
    .filter(({ fields }) => fields.length);
  const onKey = (event: KeyboardEvent) => {
    const panel = (event.currentTarget as HTMLElement).closest(".dimensions")!;
    if (event.key === "Enter") {
      event.preventDefault();
      if (groups[0]) choose(groups[0].fields[0]!);
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      panel.querySelector<HTMLElement>(".menu-item")?.focus();
    }
  };
  return (
    <>
      <input type="search" autofocus value={search} placeholder={t.searchField} aria-label={t.searchField}
        onInput={(e) => setSearch(e.currentTarget.value)} onKeyDown={onKey} />
      {groups.map(({ id, icon, fields }) => (
        <div key={id} role="group" aria-label={t.groups[id]}>
          <strong class="menu-title"><Icon name={icon} /> {t.groups[id]}</strong>
          {fields.map((each) => (
            <button key={each} type="button" class="menu-item" data-field={each} aria-pressed={each === field} onClick={() => choose(each)}>
              {fieldName(each)}<small>{noteOf(properties, each)}</small>
            </button>
          ))}
        </div>
      ))}
      {!groups.length && <p class="quiet" role="status">{t.noField}</p>}
    </>
  );
}

/** The groups with the website's properties and traits; a name that is searched may be one that is not listed. */
function groupsOf(properties: Property[], traits: string[], search: string): DimensionGroup[] {
  if (isShared()) return DIMENSION_GROUPS.map((group) => ({ ...group, fields: group.fields.filter((each) => SHARED_FIELDS.includes(each)) }));
  const name = search.replace(/^(properties|traits)\./, "");
  const added = (prefix: string, fields: string[]) => [...fields, ...(name ? [`${prefix}${name}`] : [])];
  return [
    ...DIMENSION_GROUPS,
    { id: "properties", icon: "tag", fields: [...new Set(added("properties.", properties.map(({ field }) => field)))] },
    { id: "traits", icon: "user", fields: [...new Set(added("traits.", traits))] },
  ];
}

const noteOf = (properties: Property[], field: string): string =>
  properties.find((each) => each.field === field)?.events.slice(0, 2).join(", ") ?? "";

