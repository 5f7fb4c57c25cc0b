// A button that opens a searchable list in groups; what cannot be chosen says why.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { ChoiceGroup } from "../state/metric_fields";
import { moreTexts } from "../texts.more";
import { Icon } from "./icon";
import Definition from "./definition";
import { Popover } from "./popover";

const t = moreTexts.explore;

export function Picker<Value>({ label, name, className, groups, isChosen, reasonAgainst, choose, typed, foot }: {
  label: ComponentChildren;
  /** Read aloud, and what the search field asks for. */
  name: string;
  className?: string;
  groups: ChoiceGroup<Value>[];
  isChosen: (value: Value) => boolean;
  /** Why a value cannot be chosen; null when it can. */
  reasonAgainst: (value: Value) => string | null;
  choose: (value: Value) => void;
  /** A group made of what was typed, where every text is a choice. */
  typed?: (text: string) => ChoiceGroup<Value> | null;
  /** What stands below the list. */
  foot?: (close: () => void) => ComponentChildren;
}) {
  return (
    <Popover label={label} name={name} className={className} panel="menu picker">
      {(close) => (
        <>
          <Choices {...{ name, groups, isChosen, reasonAgainst, typed }} choose={(value) => { close(); choose(value); }} />
          {foot && <div class="picker-foot">{foot(close)}</div>}
        </>
      )}
    </Popover>
  );
}

function Choices<Value>({ name, groups, isChosen, reasonAgainst, choose, typed }: {
  name: string;
  groups: ChoiceGroup<Value>[];
  isChosen: (value: Value) => boolean;
  reasonAgainst: (value: Value) => string | null;
  choose: (value: Value) => void;
  typed?: (text: string) => ChoiceGroup<Value> | null;
}) {
  const [search, setSearch] = useState("");
  const list = useRef<HTMLDivElement>(null);
  const words = lettersOf(search);
  const has = (...parts: string[]) => parts.some((part) => lettersOf(part).includes(words));
  const found = groups.map((group) => ({
    ...group, choices: group.choices.filter(({ value, text, meaning }) => has(text, group.label, meaning, JSON.stringify(value))),
  })).filter(({ choices }) => choices.length);
  const further = words && typed ? typed(search.trim()) : null;
  const shown = further ? [...found, further] : found;
  const buttons = () => [...list.current!.querySelectorAll<HTMLButtonElement>("button:not(:disabled)")];
  const key = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    if (event.key === "Enter") buttons()[0]?.click();
    else buttons()[0]?.focus();
  };
  return (
    <>
      <input type="search" autofocus placeholder={name} aria-label={name} value={search} onKeyDown={key}
        onInput={(event) => setSearch(event.currentTarget.value)} />
      <div ref={list} class="picker-list">
        {!shown.length && <p class="quiet">{t.noMatch}</p>}
        {shown.map(({ id, label, icon, choices }) => (
          <section key={id} aria-label={label}>
            <h3><Icon name={icon} size={14} />{label}</h3>
            {choices.map(({ value, text, meaning }) => {
              const chosen = isChosen(value);
              const reason = chosen ? null : reasonAgainst(value);
              return (
                <button key={JSON.stringify(value)} type="button" class="choice" data-value={JSON.stringify(value)} aria-pressed={chosen} disabled={reason !== null} onClick={() => choose(value)}>
                  <span>{text}{chosen && <Icon name="check" size={14} />}</span>
                  <small>{reason ?? <Definition of={meaning} />}</small>
                </button>
              );
            })}
          </section>
        ))}
      </div>
    </>
  );
}

/** "Sign-up" and "signup" are one word to who searches. */
const lettersOf = (text: string): string => text.toLowerCase().replace(/[\s_-]/g, "");
