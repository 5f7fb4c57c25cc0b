// Steps in no order, of which there may be none: what may not lie between the steps of a funnel, what begins a cohort.
import { useState } from "preact/hooks";
import { isComplete, type Step } from "../state/steps";
import { moreTexts } from "../texts.more";
import { Icon } from "./icon";
import { type Suggestions, StepInputs } from "./step_inputs";

const t = moreTexts.steps;

export function StepSet({ label, none, steps, most, change, suggestions }: {
  label: string;
  /** What it means that there are none. */
  none: string;
  steps: Step[];
  most: number;
  /** Called with the steps that are complete. */
  change: (steps: Step[]) => void;
  suggestions: Suggestions;
}) {
  const [drafts, setDrafts] = useState<Step[] | null>(null);
  const shown = drafts ?? steps;
  const set = (edited: Step[]) => {
    setDrafts(edited.every(isComplete) ? null : edited);
    change(edited.filter(isComplete));
  };
  return (
    <fieldset class="step-set">
      <legend>{label}</legend>
      {shown.map((step, i) => (
        <span key={i} class="step-set-item">
          <StepInputs step={step} name={most > 1 ? t.numbered(label, i + 1) : label} suggestions={suggestions} change={(changed) => set(shown.with(i, changed))} />
          <button type="button" class="icon" aria-label={t.removeFrom(label, i + 1)} title={t.removeFrom(label, i + 1)} onClick={() => set(shown.toSpliced(i, 1))}>
            <Icon name="x" size={14} />
          </button>
        </span>
      ))}
      {shown.length < most && (
        <button type="button" class="quiet-button" aria-label={t.addTo(label, shown.length ? t.another : none)} onClick={() => setDrafts([...shown, { kind: "event", value: "" }])}>
          <Icon name="plus" />{shown.length ? t.another : none}
        </button>
      )}
    </fieldset>
  );
}
