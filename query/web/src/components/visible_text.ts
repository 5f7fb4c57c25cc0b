// All texts that are drawn go through `visible`, whoever wrote them.
import { options, type VNode } from "preact";
import { visible } from "../isolate";

/** Attributes whose text people read or hear. */
const READ = ["title", "aria-label", "placeholder", "alt"];

/** Installs it; values of inputs stay as they are. */
export function drawVisibleTexts(): void {
  const before = options.vnode;
  options.vnode = (node) => {
    const { type, props } = node as VNode<Record<string, unknown>>;
    if (type === null) (node as { props: unknown }).props = visible(String(props)); // a text
    else if (typeof type === "string") for (const name of READ) if (typeof props[name] === "string") props[name] = visible(props[name]);
    before?.(node);
  };
}
