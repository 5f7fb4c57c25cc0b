// The buttons that end the form of a dialog: a deletion, where there is one, then cancel and submit.
import { texts } from "../texts";

export function FormFooter({ submit, close, danger, kind = "primary", busy = false }: {
  /** What the button that sends the form says. */
  submit: string;
  close: () => void;
  danger?: { label: string; run: () => void };
  /** How the button that sends the form looks. */
  kind?: "primary" | "danger";
  busy?: boolean;
}) {
  return (
    <footer>
      {danger && <button type="button" class="button danger" onClick={danger.run}>{danger.label}</button>}
      <button type="button" class="button" onClick={close}>{texts.filters.cancel}</button>
      <button type="submit" class={`button ${kind}`} disabled={busy}>{submit}</button>
    </footer>
  );
}
