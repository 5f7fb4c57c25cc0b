// Names and writes a formula over metrics; the service says what is wrong with it.
import { useId, useRef, useState } from "preact/hooks";
import { metricsRequest } from "../api/metrics";
import { fetchJson } from "../api/request";
import { type Known, operandGroups } from "../state/metric_fields";
import { FORMULA, isFormula, membersOf, type Question, tidied } from "../state/question";
import { moreTexts } from "../texts.more";
import { Dialog } from "./dialog";
import { FormFooter } from "./form_footer";
import { Icon } from "./icon";
import { Picker } from "./picker";
import { useForm } from "./use_form";

const t = moreTexts.explore;
/** Parses a query, and runs none. */
const CHECK_PATH = "/v1/query/compile";
const [NAME_LENGTH, FORMULA_LENGTH] = [63, 200];
/** What the service says of names: a taken one, or one that is none. */
const OF_NAME = /\.as'| again;/;

export function FormulaDialog({ known, question, at, change, close }: {
  known: Known;
  question: Question;
  /** Its place among the metrics. */
  at: number;
  change: (question: Question) => void;
  close: () => void;
}) {
  const term = question.metrics[at];
  const old = term !== undefined && isFormula(term) ? term : null;
  const [name, setName] = useState(old?.as ?? "");
  const [formula, setFormula] = useState(old?.formula ?? "");
  const field = useRef<HTMLInputElement>(null);
  const [nameError, formulaError] = [useId(), useId()];
  const { error, busy, submit } = useForm(t.formulaLabels);
  const ofName = error !== "" && OF_NAME.test(error);
  const use = async () => {
    const made = { metric: FORMULA, formula: formula.trim(), as: name.trim().replace(/\s+/g, "_") };
    const asked = tidied({ ...question, metrics: question.metrics.toSpliced(at, 1, made) });
    const { query, body } = metricsRequest(membersOf(asked));
    await fetchJson(CHECK_PATH, { query, body });
    change(asked);
    close();
  };
  const insert = (operand: string) => {
    const input = field.current!;
    input.setRangeText(operand, input.selectionStart!, input.selectionEnd!, "end");
    setFormula(input.value);
    input.focus();
  };
  return (
    <Dialog title={t.formulaTitle} close={close}>
      <form class="form" onSubmit={submit(use)}>
        <div class="formula-field">
          <label>{t.formulaLabels.as}
            <input name="as" required maxLength={NAME_LENGTH} autocomplete="off" placeholder="pages_per_visit" value={name} aria-invalid={ofName} aria-describedby={nameError}
              onInput={(e) => setName(e.currentTarget.value)} />
          </label>
          {ofName ? <p id={nameError} class="error" role="alert">{error}</p> : <small id={nameError} class="quiet">{t.formulaName}</small>}
        </div>
        <div class="formula-field">
          <label>{t.formulaLabels.formula}
            <input ref={field} name="formula" required maxLength={FORMULA_LENGTH} autocomplete="off" spellcheck={false} placeholder="page_views / visits" value={formula}
              aria-invalid={error !== "" && !ofName} aria-describedby={formulaError} onInput={(e) => setFormula(e.currentTarget.value)} />
          </label>
          {error && !ofName ? <p id={formulaError} class="error" role="alert">{error}</p> : <small id={formulaError} class="quiet">{t.formulaHint}</small>}
          <Picker label={<><Icon name="plus" />{t.insertMetric}</>} name={t.insertMetric} className="quiet-button" groups={operandGroups(question.metrics.slice(0, at), known)}
            isChosen={() => false} reasonAgainst={() => null} choose={insert} />
        </div>
        <FormFooter submit={t.setFormula} close={close} busy={busy} />
      </form>
    </Dialog>
  );
}
