// The values of a condition: chosen among those that occur, with their visitors, or typed.
import { useId, useRef, useState } from "preact/hooks";
import { normalized } from "../state/filter_values";
import { formatNumber } from "../state/format";
import { texts } from "../texts";
import { valueText } from "./filter_text";
import { Icon } from "./icon";
import { useSuggestions } from "./suggestions";
import { ValueSign } from "./value_sign";

const t = texts.filters;
/** Suggestions that are drawn. */
const SHOWN = 50;
/** So long the list stays after the focus is gone, so that what is clicked below it does not move away. */
const CLICK_MS = 250;

export function ValueInput({ field, operator, values, label, autofocus, change }: {
  field: string;
  operator: string;
  values: string[];
  label: string;
  autofocus?: boolean;
  change: (values: string[]) => void;
}) {
  const id = useId();
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const closing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const [active, setActive] = useState(-1);
  const { known, found, loading } = useSuggestions(isOpen ? field : null, text);
  const stored = storedValue(field, operator, text, known.map(({ value }) => value));
  const options = found.slice(0, SHOWN);
  const canType = text.trim() !== "" && !options.some(({ value }) => value === stored);
  const count = options.length + (canType ? 1 : 0);
  const toggle = (value: string) => {
    change(values.includes(value) ? values.filter((each) => each !== value) : [...values, value]);
    setText("");
    setActive(-1);
  };
  /** What is typed becomes a value: the only one that contains it, where whole values are compared. */
  const add = () => {
    const isWhole = operator === "eq" || operator === "ne";
    const meant = canType && isWhole && found.length === 1 ? found[0]!.value : stored;
    if (meant && !values.includes(meant)) change([...values, meant]);
    setText("");
    setActive(-1);
  };
  const move = (by: number) => {
    const next = (Math.max(active, by < 0 ? 0 : -1) + by + count) % count;
    setActive(next);
    document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: "nearest" });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event;
    if (event.ctrlKey || event.metaKey) return;
    if (key === "ArrowDown" || key === "ArrowUp") move(key === "ArrowDown" ? 1 : -1);
    else if (key === "Enter" && active >= 0 && options[active]) toggle(options[active].value);
    else if (key === "Enter" && active === options.length && canType) toggle(stored);
    else if (key === "Enter" && text.trim()) add();
    else if (key === "Backspace" && !text && values.length) change(values.slice(0, -1));
    else if (key === "Escape" && text) setText("");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="values" onFocusIn={() => { clearTimeout(closing.current); setOpen(true); }}
      onFocusOut={(event) => {
        if ((event.currentTarget as HTMLElement).contains(event.relatedTarget as Node | null)) return;
        if (text.trim()) add();
        closing.current = setTimeout(() => setOpen(false), CLICK_MS);
      }}>
      <div class="values-box">
        {values.map((value) => (
          <span key={value} class="chip">
            <span class="chip-value"><ValueSign field={field} value={value} />{valueText(field, value)}</span>
            <button type="button" class="chip-remove" aria-label={t.removeValue(valueText(field, value))} onClick={() => toggle(value)}><Icon name="x" size={14} /></button>
          </span>
        ))}
        <input role="combobox" aria-label={label} aria-expanded={isOpen} aria-controls={id} aria-autocomplete="list" autocomplete="off"
          aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined} autofocus={autofocus} value={text}
          placeholder={values.length ? "" : t.searchValue}
          onInput={(e) => { setText(e.currentTarget.value); setActive(-1); }} onKeyDown={onKeyDown} />
      </div>
      {isOpen && (
        <div class="suggestions">
          <ul id={id} role="listbox" aria-multiselectable="true" aria-label={t.suggestions} aria-busy={loading}>
            {options.map(({ value, visitors, note }, at) => (
              <li key={value} id={`${id}-${at}`} role="option" aria-selected={values.includes(value)} data-value={value}
                class={at === active ? "active" : undefined} onMouseDown={(e) => e.preventDefault()} onClick={() => toggle(value)}>
                <span class="suggestion"><ValueSign field={field} value={value} /><span>{valueText(field, value)}</span>{note && <small>{note}</small>}</span>
                {visitors !== null && <span class="count" title={`${formatNumber(visitors)} ${texts.metrics.visitors}`}>{formatNumber(visitors)}</span>}
              </li>
            ))}
            {canType && (
              <li id={`${id}-${options.length}`} role="option" aria-selected="false" class={active === options.length ? "active" : undefined}
                onMouseDown={(e) => e.preventDefault()} onClick={() => toggle(stored)}>
                {t.typed(valueText(field, stored))}
              </li>
            )}
          </ul>
          <p class="quiet" role="status">{loading ? t.loading : text.trim() && !found.length ? t.unseen : !known.length ? t.noValues : ""}</p>
        </div>
      )}
    </div>
  );
}

/** The value that is meant by a text. */
function storedValue(field: string, operator: string, text: string, known: string[]): string {
  if (!text.trim()) return "";
  const { value } = normalized({ field, operator, value: text.trim() }, known);
  return String(value);
}
