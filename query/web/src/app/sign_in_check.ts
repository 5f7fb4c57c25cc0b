// A signed-in page is hidden once its sign-in has changed or ended.
//
// The browser keeps a page that is left, with all that it showed, to go back to. It is kept hidden, and is shown
// again only when the sign-in is still the same. Other tabs tell when it changes.
import { isShared, listenToOtherTabs, me, readMe } from "../api/session";
import type { Me } from "../types";

export function checkSignIn(root: HTMLElement): void {
  const check = async () => {
    if (isShared() || me.value === undefined) return;
    if (await isSame()) root.hidden = false;
    else location.reload();
  };
  addEventListener("pagehide", () => (root.hidden = !isShared()));
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    if (isShared() || !me.value) root.hidden = false;
    else void check();
  });
  listenToOtherTabs(() => void check());
}

/** Whether the sign-in is the one whose numbers the page shows. */
async function isSame(): Promise<boolean> {
  const shown = idOf(me.value);
  try {
    return idOf(await readMe()) === shown;
  } catch {
    return false;
  }
}

/** The key, or the person in an organization. */
const idOf = (signedIn: Me | null | undefined): string | undefined => (signedIn?.person ?? signedIn?.key)?.id;
