// The page: its views, also those of the history, and how long and how far it was looked at.
import { put } from "./queue.js";

// Where the next view comes from: the page that is shown, at first the one before it.
let from = document.referrer.slice(0, 2048);
let shown;
let since;
let depth;

// Without query, and without a fragment unless it is a route of an application: #/cart, #!/cart.
const place = () => location.href.replace(/[?#](?![!/])[^#]*/g, "");

export const look = () => (since = document.hidden ? 0 : performance.now());

export const scrolled = () => {
  depth = Math.max(
    depth,
    Math.min(100, ((100 * (scrollY + innerHeight)) / document.documentElement.scrollHeight) | 0),
  );
};

export const view = () => {
  if (shown == place()) return;
  exit();
  shown = place();
  depth = 0;
  look();
  put({
    name: "screen_view",
    title: document.title.slice(0, 512),
    referrer: from,
    screen_resolution: screen.width + "x" + screen.height,
    viewport_size: innerWidth + "x" + innerHeight,
  });
  from = location.href.slice(0, 2048);
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

export const watch = (name) => {
  const original = history[name];
  history[name] = (...state) => {
    original.apply(history, state);
    moved();
  };
};
