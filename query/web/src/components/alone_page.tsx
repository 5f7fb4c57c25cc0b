// A page without navigation: the name of the product, and one card in the middle.
import type { ComponentChildren } from "preact";
import icon from "../icon.svg";
import { texts } from "../texts";

export function AlonePage({ after, children }: { after?: ComponentChildren; children: ComponentChildren }) {
  return (
    <main class="alone">
      <div class="sign-in">
        <p class="brand"><img src={icon} alt="" width="36" height="36" />{texts.app.name}</p>
        {children}
        {after && <p class="quiet">{after}</p>}
      </div>
    </main>
  );
}
