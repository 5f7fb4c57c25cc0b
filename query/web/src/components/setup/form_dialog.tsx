// A dialog with text inputs that sends one request.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { moreTexts } from "../../texts.more";
import { DateField } from "../date_field";
import { Dialog } from "../dialog";
import { FormFooter } from "../form_footer";
import { formMessage } from "../form_message";

export interface Input {
  /** The member of the request that it becomes, by which messages name it. */
  name: string;
  label: string;
  value?: string;
  /** What it is for, below it. */
  help?: string;
  required?: boolean;
  placeholder?: string;
  /** Several lines, three unless it says how many. */
  lines?: boolean | number;
  type?: "date";
  choices?: (string | Choice)[];
  /** Check boxes; the value has what is chosen, with blanks between. */
  several?: Choice[];
}

export interface Choice {
  value: string;
  label: string;
}

export function FormDialog<Response>({ title, inputs, method, path, body, submit = moreTexts.setup.save, close, done, danger, wide }: {
  title: string;
  inputs: Input[];
  method: string;
  path: string;
  body: (values: Record<string, string>) => unknown;
  submit?: string;
  close: () => void;
  done: (response: Response) => void;
  /** A further request, such as a deletion. */
  danger?: { label: string; run: () => Promise<void> };
  wide?: boolean;
}) {
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(inputs.map(({ name, value = "" }) => [name, value])));
  const [error, setError] = useState("");
  const labels = Object.fromEntries(inputs.map(({ name, label }) => [name, label]));
  const attempt = (work: () => Promise<void>) => void work().catch((problem) => setError(formMessage(problem, labels)));
  const save = (event: Event) => {
    event.preventDefault();
    attempt(async () => done(await fetchJson<Response>(path, { method, body: body(values) })));
  };
  const set = (name: string, value: string) => setValues((old) => ({ ...old, [name]: value }));
  return (
    <Dialog title={title} close={close} wide={wide}>
      <form class="form" onSubmit={save}>
        {inputs.map(({ name, label, help, required, placeholder, lines, choices, several, type }) => several ? (
          <fieldset key={name}>
            <legend>{label}</legend>
            {several.map((each) => (
              <label key={each.value} class="check">
                <input type="checkbox" name={name} value={each.value} checked={words(values[name]).includes(each.value)}
                  onChange={(e) => set(name, withWord(values[name], each.value, e.currentTarget.checked))} />
                {each.label}
              </label>
            ))}
          </fieldset>
        ) : (
          <label key={name}>{label}
            {choices
              ? <select name={name} value={values[name]} onChange={(e) => set(name, e.currentTarget.value)}>
                {choices.map(asChoice).map((each) => <option key={each.value} value={each.value}>{each.label}</option>)}
              </select>
              : lines
                ? <textarea name={name} rows={lines === true ? 3 : lines} value={values[name]} placeholder={placeholder} onInput={(e) => set(name, e.currentTarget.value)} />
                : type === "date"
                  ? <DateField name={name} required={required} value={values[name] ?? ""} change={(day) => set(name, day)} />
                  : <input name={name} required={required} value={values[name]} placeholder={placeholder} onInput={(e) => set(name, e.currentTarget.value)} />}
            {help && <small>{help}</small>}
          </label>
        ))}
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={submit} close={close} danger={danger && { label: danger.label, run: () => attempt(danger.run) }} />
      </form>
    </Dialog>
  );
}

const asChoice = (choice: string | Choice): Choice => (typeof choice === "string" ? { value: choice, label: choice } : choice);
const words = (text = ""): string[] => text.split(" ").filter(Boolean);
const withWord = (text: string | undefined, word: string, chosen: boolean): string =>
  [...words(text).filter((each) => each !== word), ...(chosen ? [word] : [])].join(" ");

export const splitLines = (text: string): string[] => text.split(/[\n,]/).map((each) => each.trim()).filter(Boolean);
