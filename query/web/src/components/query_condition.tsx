// One condition of a custom query. What is typed counts when its input is left, as its stored value.
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useState } from "preact/hooks";
import { normalized, shownValue } from "../state/filter_values";
import type { Condition } from "../state/filters";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";

const t = texts.filters;
const LISTS = ["in", "not_in"];
const BARE = ["is_null", "is_not_null"];
const BOOLEANS: Record<string, string> = { true: moreTexts.explore.yes, false: moreTexts.explore.no };

/** A typed value as the type of its column has it; what cannot be one stays, for the service to refuse. */
function scalarOf(typed: string, type: string): string | number | boolean {
  const text = typed.trim();
  if (type === "boolean") {
    const known = Object.entries(BOOLEANS).find((pair) => pair.some((word) => word.toLowerCase() === text.toLowerCase()));
    return known ? known[0] === "true" : text;
  }
  return type === "timestamp" || text === "" || Number.isNaN(Number(text)) ? text : Number(text);
}

export function QueryCondition({ condition, known, operators, type = "string", column, change }: {
  condition: Condition;
  /** Stored values of its field, frequent ones first. */
  known: string[];
  operators: string[];
  type?: string;
  /** What picks its field. */
  column: ComponentChildren;
  change: (condition: Condition) => void;
}) {
  const list = useId();
  const { field, operator, value } = condition;
  const many = LISTS.includes(operator);
  const show = (stored: string) => (type === "boolean" ? BOOLEANS[stored] ?? stored : shownValue(field, stored));
  const words = (Array.isArray(value) ? value : [value]).map((each) => show(String(each ?? ""))).join("\n");
  const [text, setText] = useState(words);
  useLayoutEffect(() => setText(words), [words]);
  const commit = (typed: string) => {
    const lines = typed.split("\n").map((each) => each.trim()).filter(Boolean);
    if (type === "string") change(normalized({ ...condition, value: many ? lines : typed }, known));
    else change({ ...condition, value: many ? lines.map((line) => scalarOf(line, type)) : scalarOf(typed, type) } as Condition);
  };
  return (
    <span class="condition">
      <label>{t.field}{column}</label>
      <label>{t.operator}
        <select value={operator} onChange={(e) => change({ ...condition, operator: e.currentTarget.value })}>
          {operators.map((each) => <option key={each} value={each}>{t.operators[each] ?? each}</option>)}
        </select>
      </label>
      {!BARE.includes(operator) && (
        <label>{many ? t.values : t.value}
          {many
            ? <textarea rows={4} value={text} onInput={(e) => setText(e.currentTarget.value)} onChange={(e) => commit(e.currentTarget.value)} />
            : <input list={list} value={text} onInput={(e) => setText(e.currentTarget.value)} onChange={(e) => commit(e.currentTarget.value)} />}
          <datalist id={list}>
            {known.map((each) => {
              const shown = show(each);
              return <option key={each} value={shown}>{shown === each ? undefined : each}</option>;
            })}
          </datalist>
        </label>
      )}
    </span>
  );
}
