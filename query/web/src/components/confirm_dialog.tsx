// Asks before something is done that cannot be undone.
import { useState } from "preact/hooks";
import type { RequestError } from "../api/request";
import { texts } from "../texts";
import { Dialog } from "./dialog";
import { FormFooter } from "./form_footer";
import { messageOf } from "./states";

export function ConfirmDialog({ title, text: question, action, kind = "danger", typed, run, close }: {
  title: string;
  text: string;
  /** What the button says. */
  action: string;
  kind?: "primary" | "danger";
  /** What must be typed before the button works. */
  typed?: string;
  /** Closed when it is done; what went wrong is shown. */
  run: () => Promise<void>;
  close: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const [written, setWritten] = useState("");
  const confirmed = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await run();
      close();
    } catch (problem) {
      setError(messageOf(problem as RequestError));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} close={close}>
      <form class="form" onSubmit={(event) => void confirmed(event)}>
        <p>{question}</p>
        {typed !== undefined && (
          <label>{texts.dialog.type(typed)}
            <input name="typed" autocomplete="off" value={written} onInput={(e) => setWritten(e.currentTarget.value)} />
          </label>
        )}
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={action} close={close} kind={kind} busy={busy || (typed !== undefined && written !== typed)} />
      </form>
    </Dialog>
  );
}
