// Clicks that lead to another host, and clicks and forms that say what event they are.
import { put } from "./queue.js";

// A number of JSON, unless it is too long for one; a space before it makes it a text.
const NUMBER = /^-?(?!0\d)\d{1,15}(\.\d+)?$/;

// `data-tidemark-user-id` is the property `userId`: HTML has no capitals in names.
const properties = ({ dataset }) => {
  const found = {};
  for (const name in dataset)
    if (/^tidemark./.test(name)) {
      const text = dataset[name];
      found[name[8].toLowerCase() + name.slice(9)] = NUMBER.test(text)
        ? +text
        : text.trim();
    }
  return found;
};

export const clicked = ({ target, type, button }) => {
  if (button > 1) return;
  const marked = target.closest?.("[data-tidemark]");
  // Only a form has `submit`.
  if (marked && !marked.submit == (type != "submit"))
    put({ name: marked.dataset.tidemark, properties: properties(marked) });
  const link = target.closest?.("a");
  if (link?.host && link.host != location.host)
    put({
      name: "outbound_click",
      href: link.href.slice(0, 2048),
      text: (link.innerText || link.ariaLabel || link.title).trim().slice(0, 512),
    });
};
