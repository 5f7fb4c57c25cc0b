// A form that sends one request: what went wrong, and whether it was done.
import { useState } from "preact/hooks";
import { formMessage } from "./form_message";

export interface FormState {
  error: string;
  busy: boolean;
  /** Whether the last attempt was a success. */
  done: boolean;
  /** For `onSubmit`. */
  submit: (work: () => Promise<unknown>) => (event: Event) => void;
}

/** `labels`: those of the inputs, by the members of the request. */
export function useForm(labels: Record<string, string> = {}): FormState {
  const [{ error, busy, done }, set] = useState({ error: "", busy: false, done: false });
  const submit = (work: () => Promise<unknown>) => (event: Event) => {
    event.preventDefault();
    set({ error: "", busy: true, done: false });
    work().then(
      () => set({ error: "", busy: false, done: true }),
      (problem) => set({ error: formMessage(problem, labels), busy: false, done: false }),
    );
  };
  return { error, busy, done, submit };
}
