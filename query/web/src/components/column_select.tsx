// Picks a column by its words; a property is named in an input.
import { useEffect, useRef, useState } from "preact/hooks";
import { columnText, PROPERTY } from "../state/columns";
import { moreTexts } from "../texts.more";

const t = moreTexts.explore;

export interface ColumnGroup {
  label: string;
  names: string[];
}

export function ColumnSelect({ label, value, groups, properties, change }: {
  /** Read aloud. */
  label: string;
  value: string;
  groups: ColumnGroup[];
  /** Whether the table has properties. */
  properties: boolean;
  change: (name: string) => void;
}) {
  const isProperty = value.startsWith(PROPERTY);
  const input = useRef<HTMLInputElement>(null);
  const [picked, setPicked] = useState(false);
  useEffect(() => {
    if (picked && isProperty) input.current?.select();
  }, [picked, isProperty]);
  const pick = (name: string) => {
    setPicked(name === PROPERTY);
    change(name === PROPERTY ? `${PROPERTY}${t.anyProperty}` : name);
  };
  const known = isProperty || groups.some(({ names }) => names.includes(value));
  return (
    <span class="column-select">
      <select aria-label={label} value={isProperty ? PROPERTY : value} onChange={(e) => pick(e.currentTarget.value)}>
        {!known && <option value={value}>{columnText(value)}</option>}
        {groups.filter(({ names }) => names.length).map((group) => (
          <optgroup key={group.label} label={group.label}>
            {group.names.map((name) => <option key={name} value={name} title={name}>{columnText(name)}</option>)}
          </optgroup>
        ))}
        {properties && <option value={PROPERTY}>{t.aProperty}</option>}
      </select>
      {isProperty && (
        <input ref={input} aria-label={`${label}: ${t.propertyName}`} value={value.slice(PROPERTY.length)}
          onChange={(e) => e.currentTarget.value.trim() && change(PROPERTY + e.currentTarget.value.trim())} />
      )}
    </span>
  );
}
