// A modal dialog; open as long as it is drawn. A click beside it closes it unless it has a form, whose texts it would lose.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { texts } from "../texts";
import { Icon } from "./icon";

/** Where typing begins; a dialog without a form begins at its close button. */
const FIRST_INPUT = "form input, form select, form textarea";

/** To where it was, or to the view when that is gone. */
function returnFocus(opener: HTMLElement | null): void {
  if (document.activeElement !== document.body) return;
  const there = opener?.isConnected && opener.checkVisibility();
  (there ? opener : document.getElementById("content"))?.focus({ preventScroll: true });
}

export function Dialog({ title, close, wide, children }: {
  title: string;
  close: () => void;
  wide?: boolean;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    dialog.current!.showModal();
    dialog.current!.querySelector<HTMLElement>(FIRST_INPUT)?.focus();
    return () => {
      dialog.current?.close();
      setTimeout(() => returnFocus(opener));
    };
  }, []);
  return (
    <dialog ref={dialog} class={wide ? "wide" : undefined} aria-labelledby={id} onClose={close}
      onClick={({ target }) => target === dialog.current && !dialog.current!.querySelector("form") && close()}>
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="icon" aria-label={texts.dialog.close} onClick={close}><Icon name="x" /></button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
