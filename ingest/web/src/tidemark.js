// tidemark.js: page views, engagement, outbound clicks and events. No cookies; see ../README.md.
import "./clicks.js";
import { again, exit, look, view, watchPage } from "./page.js";
import { leave, put } from "./queue.js";
import { storage } from "./storage.js";
import { base, given, tag } from "./tag.js";

const commands = {
  event: (name, properties) => put({ name, properties }),
  view: again,
  optout: () => storage("optout"),
  optin: () => storage(""),
};

const gone = () => {
  view();
  exit();
  leave();
};

const start = () => {
  watchPage();
  // Browsers differ in which of the two they tell of a page that is left.
  addEventListener("pagehide", gone);
  addEventListener("visibilitychange", () => (document.hidden ? gone() : look()));

  const early = window.tidemark?.q;
  window.tidemark = (command, ...rest) => commands[command]?.(...rest);
  early?.map((call) => tidemark(...call));

  for (const extra of ["vitals", "errors"])
    if (extra in given) {
      const script = document.createElement("script");
      script.src = `${base}tidemark-${extra}.js`;
      script.nonce = tag.nonce;
      Object.assign(script.dataset, given);
      document.head.append(script);
    }
};

// A page that is only prepared has not been seen.
if (document.prerendering) document.onprerenderingchange = start;
else start();
