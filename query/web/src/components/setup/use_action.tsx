// One request of a list, sent at once: that it is under way, or why it was refused.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { RequestError } from "../../api/request";
import { messageOf } from "../states";

/** `done`: called after each, such as to load the list again. */
export function useAction(done: () => void) {
  const [state, setState] = useState<{ words: string; failed?: boolean } | null>(null);
  const run = (work: () => Promise<unknown>, words = "") => {
    setState(words ? { words } : null);
    work().then(
      (result) => {
        setState(typeof result === "string" ? { words: result } : null);
        done();
      },
      (problem) => setState({ words: messageOf(problem as RequestError), failed: true }),
    );
  };
  const note: ComponentChildren = state && (state.failed ? <p class="error" role="alert">{state.words}</p> : <p class="notice" role="status">{state.words}</p>);
  return { note, run };
}
