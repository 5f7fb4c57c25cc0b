// The page: its views, also those of the history, and how long and how far it was looked at.
import { put } from "./queue.js";
import { place } from "./route.js";

// Where the next view comes from: the page that is shown, at first the one before it.
let from = document.referrer.slice(0, 2048);
let shown;
let views = 0;
let since;
let depth;

export const look = () => (since = document.hidden ? 0 : performance.now());

export const scrolled = () => {
  depth = Math.max(
    depth,
    Math.min(100, ((100 * (scrollY + innerHeight)) / document.documentElement.scrollHeight) | 0),
  );
};

const title = () => document.title.slice(0, 512);

export const view = () => {
  if (shown == place()) return;
  exit();
  const number = ++views;
  shown = place();
  depth = 0;
  look();
  put({
    name: "screen_view",
    title: title(),
    referrer: from,
    screen_resolution: screen.width + "x" + screen.height,
    viewport_size: innerWidth + "x" + innerHeight,
    // Applications may set the title after this: it is read again when the view is sent.
    toJSON() {
      if (number == views && shown == place()) this.title = title();
      return this;
    },
  });
  from = location.href.slice(0, 8192);
};

// The visible time since the last report: the reports of a page add up.
export const exit = () => {
  if (!since) return;
  scrolled();
  put({
    name: "page_exit",
    path: from,
    time_on_page: Math.min(86400, (performance.now() - since) / 1e3),
    scroll_depth: depth,
    // What other scripts measured: load times, interactions.
    ...tidemark.facts?.(),
  });
  since = 0;
};

// Frameworks set the title after the address, and may go through several addresses at once.
export const moved = () => {
  if (shown == place()) return;
  exit();
  setTimeout(view, 100);
};

export const again = () => {
  shown = 0;
  view();
};

// Back from the browser's cache, where the visit before has been reported already.
export const restored = ({ persisted }) => {
  if (persisted) {
    since = 0;
    again();
  }
};
