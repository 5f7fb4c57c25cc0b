// A dialog with text inputs that sends one request.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { texts } from "../../texts";
import { Dialog } from "../dialog";

export interface Input {
  name: string;
  label: string;
  value?: string;
  required?: boolean;
  placeholder?: string;
  /** Several lines. */
  lines?: boolean;
  choices?: string[];
}

export function FormDialog<Response>({ title, inputs, method, path, body, submit = texts.setup.save, close, done, danger }: {
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
}) {
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(inputs.map(({ name, value = "" }) => [name, value])));
  const [error, setError] = useState("");
  const attempt = (work: () => Promise<void>) => void work().catch((problem) => setError((problem as Error).message));
  const save = (event: Event) => {
    event.preventDefault();
    attempt(async () => done(await fetchJson<Response>(path, { method, body: body(values) })));
  };
  const set = (name: string, value: string) => setValues((old) => ({ ...old, [name]: value }));
  return (
    <Dialog title={title} close={close}>
      <form class="form" onSubmit={save}>
        {inputs.map(({ name, label, required, placeholder, lines, choices }) => (
          <label key={name}>{label}
            {choices
              ? <select name={name} value={values[name]} onChange={(e) => set(name, e.currentTarget.value)}>
                {choices.map((each) => <option key={each} value={each}>{each}</option>)}
              </select>
              : lines
                ? <textarea name={name} rows={3} value={values[name]} placeholder={placeholder} onInput={(e) => set(name, e.currentTarget.value)} />
                : <input name={name} required={required} value={values[name]} placeholder={placeholder} onInput={(e) => set(name, e.currentTarget.value)} />}
          </label>
        ))}
        {error && <p class="error" role="alert">{error}</p>}
        <footer>
          {danger && <button type="button" class="button danger" onClick={() => attempt(danger.run)}>{danger.label}</button>}
          <button type="submit" class="button primary">{submit}</button>
        </footer>
      </form>
    </Dialog>
  );
}

export const splitLines = (text: string): string[] => text.split(/[\n,]/).map((each) => each.trim()).filter(Boolean);
