// Picks metrics, dimensions and the width of buckets of a question.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { timezone } from "../api/session";
import { isolate } from "../isolate";
import { address } from "../state/address";
import { PROPERTY } from "../state/columns";
import {
  type ChoiceGroup, dimensionGroups, dimensionText, iconOf, type Known, metricGroups, reasonAgainstDimension, reasonAgainstMetric, termIcon, termText,
} from "../state/metric_fields";
import { fitsBuckets } from "../state/period";
import {
  bucketOf, BUCKETS, groupedBy, groupsOf, isFormula, MOST_METRICS, MOST_SEGMENTS, type Question, SEGMENT, type Term, tidied, withMetric,
} from "../state/question";
import { moreTexts } from "../texts.more";
import type { IconName } from "../types";
import { filterText } from "./filter_text";
import { FormulaDialog } from "./formula_dialog";
import { Icon } from "./icon";
import { Picker } from "./picker";
import { useSegments } from "./segments";

const t = moreTexts.explore;
const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

export function QuestionBuilder({ known, question, change }: { known: Known; question: Question; change: (question: Question) => void }) {
  const { metrics, filters, segments } = question;
  const saved = useSegments().value ?? [];
  const segmentText = (reference: string | null) =>
    (reference === null ? t.allVisitors : saved.find(({ id }) => id === reference)?.name ?? reference);
  /** The place of the formula that is edited, one further for a new one. */
  const [formulaAt, setFormulaAt] = useState<number | null>(null);
  const set = (part: Partial<Question>) => change(tidied({ ...question, ...part }));
  const toggleTerm = (term: Term) =>
    set({ metrics: metrics.some((each) => same(each, term)) ? metrics.filter((each) => !same(each, term)) : withMetric(metrics, term) });
  const groups = groupsOf(question).filter((name) => name !== SEGMENT);
  const bucket = bucketOf(question);
  const setGroups = (names: string[], width = bucket) => set(groupedBy([...(width ? [width] : []), ...names], segments));
  const toggleSegment = (reference: string | null) =>
    set(groupedBy(question.dimensions, segments.includes(reference) ? segments.filter((each) => each !== reference) : [...segments, reference]));
  const toggleGroup = (name: string) => setGroups(groups.includes(name) ? groups.filter((each) => each !== name) : [...groups, name]);
  return (
    <div class="question">
      <Line word={t.show}>
        {metrics.map((term, i) => (
          <Chip key={JSON.stringify(term)} icon={termIcon(term)} text={termText(term, known)} remove={() => set({ metrics: metrics.filter((_, at) => at !== i) })}
            edit={isFormula(term) ? { title: t.changeFormula(termText(term, known)), text: ` = ${isolate(term.formula ?? "")}`, run: () => setFormulaAt(i) } : undefined} />
        ))}
        <Picker label={<><Icon name="plus" />{t.metric}</>} name={t.chooseMetric} className={metrics.length ? "quiet-button" : "button"}
          groups={metricGroups(known)} isChosen={(term) => metrics.some((each) => same(each, term))}
          reasonAgainst={(term) => reasonAgainstMetric(term, question, address.value.filters, known)} choose={toggleTerm} foot={(close) => (
            <button type="button" class="quiet-button" disabled={metrics.length >= MOST_METRICS} title={metrics.length >= MOST_METRICS ? t.mostMetrics(MOST_METRICS) : undefined}
              onClick={() => { close(); setFormulaAt(metrics.length); }}><Icon name="square-function" />{t.formula}</button>
          )} />
      </Line>
      <Line word={t.by}>
        {groups.map((name) => <Chip key={name} icon={iconOf(name)} text={dimensionText(name)} remove={() => toggleGroup(name)} />)}
        <Picker label={<><Icon name="plus" />{t.dimension}</>} name={t.chooseDimension} className={groups.length ? "quiet-button" : "button"}
          groups={dimensionGroups(known)} isChosen={(name) => groups.includes(name)} typed={propertyChoice}
          reasonAgainst={(name) => reasonAgainstDimension(name, question, known)} choose={toggleGroup} />
      </Line>
      {(saved.length > 0 || segments.length > 0) && (
        <Line word={t.segments}>
          {segments.map((reference) => (
            <Chip key={reference ?? ""} icon="users" text={segmentText(reference)} remove={() => toggleSegment(reference)} />
          ))}
          <Picker label={<><Icon name="plus" />{t.segment}</>} name={t.chooseSegment} className="quiet-button"
            groups={[{
              id: "segments", label: t.segments, icon: "users", choices: [
                { value: null, text: t.allVisitors, meaning: t.ofNoSegment },
                ...saved.map(({ id, name, description }) => ({ value: id, text: name, meaning: description ?? "" })),
              ],
            }]}
            isChosen={(reference: string | null) => segments.includes(reference)} choose={toggleSegment}
            reasonAgainst={() => (segments.length >= MOST_SEGMENTS ? t.mostSegments(MOST_SEGMENTS) : null)} />
        </Line>
      )}
      <Line word={t.overTime}>
        <Buckets bucket={bucket} reason={bucket ? null : reasonAgainstDimension("time:day", question, known)} choose={(width) => setGroups(groups, width)} />
      </Line>
      {filters.length > 0 && (
        <Line word={t.onlyWhere}>
          {filters.map((filter, i) => (
            <Chip key={filterText(filter)} icon="list-filter" text={filterText(filter)} remove={() => set({ filters: filters.filter((_, at) => at !== i) })} />
          ))}
        </Line>
      )}
      {formulaAt !== null && <FormulaDialog {...{ known, question }} at={formulaAt} change={change} close={() => setFormulaAt(null)} />}
    </div>
  );
}

const Line = ({ word, children }: { word: string; children: ComponentChildren }) => (
  <div class="question-line" role="group" aria-label={word}>
    <span class="question-word" aria-hidden="true">{word}</span>
    <div class="question-terms">{children}</div>
  </div>
);

const Chip = ({ icon, text, remove, edit }: {
  icon: IconName;
  text: string;
  remove: () => void;
  /** What a click on its words changes, with what they are more. */
  edit?: { title: string; text: string; run: () => void };
}) => (
  <span class="chip term-chip">
    {edit
      ? <button type="button" class="term-text" title={edit.title} onClick={edit.run}><Icon name={icon} size={14} /><span>{text}<small>{edit.text}</small></span></button>
      : <span class="term-text"><Icon name={icon} size={14} />{text}</span>}
    <button type="button" class="chip-remove" aria-label={t.removeTerm(text)} title={t.removeTerm(text)} onClick={remove}><Icon name="x" size={14} /></button>
  </span>
);

/** The widths of buckets that the time range can have, and none. */
function Buckets({ bucket, reason, choose }: { bucket: string | undefined; reason: string | null; choose: (bucket: string) => void }) {
  const names = Object.keys(BUCKETS).filter((name) => fitsBuckets(BUCKETS[name]!, address.value.period, timezone.value));
  return (
    <>
      <span class="segmented">
        {["", ...names].map((name) => (
          <button key={name} type="button" aria-pressed={(bucket ?? "") === name} disabled={name !== "" && reason !== null} title={reason ?? undefined} onClick={() => choose(name)}>
            {name ? dimensionText(name) : t.noTime}
          </button>
        ))}
      </span>
      {reason && <small class="quiet">{reason}</small>}
    </>
  );
}

/** What is typed as the name of a property of events. */
function propertyChoice(text: string): ChoiceGroup<string> | null {
  const name = text.replace(/^properties\./, "");
  if (!/^[\w.$-]{1,100}$/.test(name)) return null;
  const value = PROPERTY + name;
  return { id: "property", label: t.fieldGroups.further, icon: "tag", choices: [{ value, text: dimensionText(value), meaning: t.propertyMeaning }] };
}
