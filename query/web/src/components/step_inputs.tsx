// Inputs for one step, with the pages, events and goals that exist as suggestions.
import { useId, useLayoutEffect, useState } from "preact/hooks";
import { isShared } from "../api/session";
import { useAnswer } from "../api/use";
import { kindOf } from "../state/event_kinds";
import { KINDS, SHARED_KINDS, type Step, type StepKind } from "../state/steps";
import { moreTexts } from "../texts.more";
import { useGoals } from "./saved_goals";

const SUGGESTED = 100;
const t = moreTexts.steps;

export type Suggestions = Record<StepKind, string[]>;

/** Whether the suggestions are all there are in the time range, and the value is none of them. */
function isUnseen({ kind, value }: Step, { [kind]: known }: Suggestions): boolean {
  const isSuggested = value !== "" && (kind === "event" ? kindOf(value) === "event" : !value.includes("*"));
  return isSuggested && known.length > 0 && known.length < SUGGESTED && !known.includes(value);
}

/** The most viewed pages, the most frequent events, and the saved goals, which a shared dashboard does not know. */
export function useSuggestions(): Suggestions {
  const pages = useAnswer({ name: "top_pages", options: { limit: SUGGESTED } });
  const events = useAnswer({ name: "custom_events", options: { limit: SUGGESTED } });
  const goals = useGoals();
  return {
    path: pages.value?.rows.map((row) => row.name) ?? [],
    event: events.value?.rows.map((row) => row.name) ?? [],
    goal: goals.value?.map(({ name }) => name) ?? [],
    name: [],
  };
}

export function StepInputs({ step, change, name, suggestions, kinds = isShared() ? SHARED_KINDS : KINDS, required }: {
  step: Step;
  change: (step: Step) => void;
  /** Read aloud, such as "Step 1". */
  name: string;
  suggestions: Suggestions;
  kinds?: readonly StepKind[];
  required?: boolean;
}) {
  const list = useId();
  const [text, setText] = useState(step.value);
  useLayoutEffect(() => setText(step.value), [step.kind, step.value]); // before anybody types on
  const complete = (typed: string) => {
    setText(typed);
    change({ ...step, label: undefined, value: typed });
  };
  const kind = (value: StepKind) => change({ kind: value, value: suggestions[value].includes(step.value) ? step.value : "" });
  return (
    <span class="step-inputs">
      <select aria-label={`${name}: ${t.kind}`} value={step.kind} onChange={(e) => kind(e.currentTarget.value as StepKind)}>
        {[...new Set([...kinds, step.kind])].map((each) => <option key={each} value={each}>{t.kinds[each]}</option>)}
      </select>
      <input aria-label={name} list={list} required={required} placeholder={t.placeholders[step.kind]} value={text} onFocus={(e) => e.currentTarget.select()}
        onInput={(e) => setText(e.currentTarget.value)} onChange={(e) => complete(e.currentTarget.value.trim())} />
      <datalist id={list}>{suggestions[step.kind].map((each) => <option key={each} value={each} />)}</datalist>
      {isUnseen(step, suggestions) && <small class="unseen" role="status">{t.unseen}</small>}
    </span>
  );
}
