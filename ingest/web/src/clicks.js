// Clicks that lead to another host, and clicks and forms that say what event they are.
import { put } from "./queue.js";

const properties = ({ attributes }) => {
  const found = {};
  for (const { name, value } of attributes)
    if (name.startsWith("data-tidemark-")) found[name.slice(14)] = value;
  return found;
};

const clicked = ({ target, type, button }) => {
  if (button > 1) return;
  const marked = target.closest?.("[data-tidemark]");
  if (marked && (marked.localName == "form") == (type == "submit"))
    put({ name: marked.dataset.tidemark, properties: properties(marked) });
  const link = target.closest?.("a");
  if (link?.host && link.host != location.host)
    put({
      name: "outbound_click",
      href: link.href.slice(0, 2048),
      text: (link.innerText || link.ariaLabel || link.title).trim().slice(0, 512),
    });
};

for (const type of ["click", "auxclick", "submit"]) addEventListener(type, clicked, true);
