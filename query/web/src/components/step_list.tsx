// The steps of a funnel: changed, inserted, moved and removed; the focus goes with them.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Step } from "../state/steps";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import { filterText } from "./filter_text";
import { Icon } from "./icon";
import { type Suggestions, StepInputs } from "./step_inputs";

const t = moreTexts.funnels;
const MOST_STEPS = 10;
const FEWEST_STEPS = 2;

export function StepList({ steps, change, suggestions }: {
  steps: Step[];
  change: (steps: Step[]) => void;
  suggestions: Suggestions;
}) {
  const list = useRef<HTMLOListElement>(null);
  const awaited = useRef<{ steps: Step[]; selector: string } | null>(null);
  useLayoutEffect(() => {
    if (awaited.current?.steps !== steps) return;
    list.current!.querySelector<HTMLElement>(awaited.current.selector)?.focus();
    awaited.current = null;
  }, [steps]);
  /** Once the changed steps are drawn, a part of the step at a position gets the focus. */
  const changeTo = (changed: Step[], at: number, part: string) => {
    awaited.current = { steps: changed, selector: `li:nth-child(${at + 1}) ${part}` };
    change(changed);
  };
  /** A new step is of the kind of the one before it: who follows goals goes on with goals. */
  const insert = (at: number) => changeTo(steps.toSpliced(at, 0, { kind: steps[at - 1]!.kind, value: "" }), at, "input");
  const move = (from: number, to: number) => {
    const ends = to === 0 || to === steps.length - 1;
    const towards = to < from ? ".earlier" : ".later";
    const back = to < from ? ".later" : ".earlier";
    changeTo(steps.toSpliced(from, 1).toSpliced(to, 0, steps[from]!), to, ends ? back : towards);
  };
  const remove = (at: number) => changeTo(steps.toSpliced(at, 1), Math.max(at - 1, 0), "input");
  const full = steps.length >= MOST_STEPS;
  return (
    <ol class="steps" ref={list}>
      {steps.map((step, i) => (
        <li key={i}>
          <span class="step-number">{i + 1}</span>
          <StepInputs step={step} name={t.step(i + 1)} suggestions={suggestions} change={(changed) => change(steps.with(i, changed))} />
          <Filters step={step} change={(changed) => change(steps.with(i, changed))} />
          <span class="step-buttons">
            <button type="button" class="icon earlier" disabled={i === 0} aria-label={t.earlier(i + 1)} title={t.earlier(i + 1)}
              onClick={() => move(i, i - 1)}><Icon name="arrow-up" size={14} /></button>
            <button type="button" class="icon later" disabled={i === steps.length - 1} aria-label={t.later(i + 1)} title={t.later(i + 1)}
              onClick={() => move(i, i + 1)}><Icon name="arrow-down" size={14} /></button>
            <button type="button" class="icon" disabled={full} aria-label={t.insert(i + 1)} title={t.insert(i + 1)}
              onClick={() => insert(i + 1)}><Icon name="plus" size={14} /></button>
            <button type="button" class="icon" disabled={steps.length <= FEWEST_STEPS} aria-label={t.remove(i + 1)} title={t.remove(i + 1)}
              onClick={() => remove(i)}><Icon name="x" size={14} /></button>
          </span>
        </li>
      ))}
      {!full && <li><button type="button" class="button" onClick={() => insert(steps.length)}><Icon name="plus" />{t.add}</button></li>}
    </ol>
  );
}

function Filters({ step, change }: { step: Step; change: (step: Step) => void }) {
  const { filters = [] } = step;
  return filters.map((filter, i) => (
    <span key={filterText(filter)} class="chip fixed">{filterText(filter)}
      <button type="button" class="chip-remove" aria-label={texts.filters.remove(filterText(filter))}
        onClick={() => change({ ...step, filters: filters.toSpliced(i, 1) })}><Icon name="x" size={14} /></button>
    </span>
  ));
}
