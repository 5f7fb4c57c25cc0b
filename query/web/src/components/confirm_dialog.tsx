// Asks before something is done that cannot be undone.
import { useState } from "preact/hooks";
import type { RequestError } from "../api/request";
import { Dialog } from "./dialog";
import { FormFooter } from "./form_footer";
import { messageOf } from "./states";

export function ConfirmDialog({ title, text, action, kind = "danger", run, close }: {
  title: string;
  text: string;
  /** What the button says. */
  action: string;
  kind?: "primary" | "danger";
  /** Closed when it is done; what went wrong is shown. */
  run: () => Promise<void>;
  close: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
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
        <p>{text}</p>
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={action} close={close} kind={kind} busy={busy} />
      </form>
    </Dialog>
  );
}
