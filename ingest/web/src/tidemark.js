// tidemark.js: page views, engagement, outbound clicks and events. No cookies; see ../README.md.
import { clicked } from "./clicks.js";
import { again, exit, look, moved, restored, scrolled, view } from "./page.js";
import { leave, put } from "./queue.js";
import { onMove } from "./route.js";
import { storage } from "./storage.js";
import { base, given, pastedTwice, refused } from "./tag.js";

const commands = {
  event: (name, properties, options) =>
    put({ name, properties, interactive: options?.interactive }),
  view: again,
  optout: () => storage("optout"),
  optin: () => storage(""),
  // For all scripts of the page; withdrawn, what is stored goes, but for an opt-out.
  consent: (yes) => (tidemark.yes = yes) || refused() || storage(""),
};

const gone = () => {
  view();
  exit();
  leave();
};

const listeners = {
  click: clicked,
  auxclick: clicked,
  submit: clicked,
  scroll: scrolled,
  pageshow: restored,
  // Browsers differ in which of the two they tell of a page that is left.
  pagehide: gone,
  visibilitychange: () => (document.hidden ? gone() : look()),
};

const start = () => {
  onMove(moved);
  view();
  for (const type in listeners) addEventListener(type, listeners[type], true);

  const early = window.tidemark?.q;
  window.tidemark = (command, ...rest) => commands[command]?.(...rest);
  early?.map((call) => tidemark(...call));

  // `import`, because it works under Trusted Types, which a script element does not.
  ["vitals", "errors", "performance", "engagement", "downloads", "404"].map(
    (extra) => extra in given && import(base + "tidemark-" + extra + ".js"),
  );
};

// A page that is only prepared has not been seen.
if (!pastedTwice)
  if (document.prerendering) document.onprerenderingchange = start;
  else start();
