// A modal dialog; open as long as it is drawn.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { texts } from "../texts";

/** Where typing begins; a dialog without a form begins at its close button. */
const FIRST_INPUT = "form input, form select, form textarea";

export function Dialog({ title, close, wide, children }: {
  title: string;
  close: () => void;
  wide?: boolean;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    dialog.current!.showModal();
    dialog.current!.querySelector<HTMLElement>(FIRST_INPUT)?.focus();
    return () => dialog.current?.close();
  }, []);
  return (
    <dialog ref={dialog} class={wide ? "wide" : undefined} aria-labelledby={id} onClose={close}
      onClick={(event) => event.target === dialog.current && close()}>
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="icon" aria-label={texts.dialog.close} onClick={close}>×</button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
