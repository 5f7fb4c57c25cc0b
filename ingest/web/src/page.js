// The page: its views, also those of the history, and how long and how far it was looked at.
import { put } from "./queue.js";

// Where the next view comes from: the page that is shown, at first the one before it.
let from = document.referrer;
let shown;
let since;
let depth;

// Without query, and without a fragment unless it is a route of an application: #/cart, #!/cart.
const place = () => location.href.replace(/[?#](?![!/])[^#]*/g, "");

export const look = () => (since = document.hidden ? 0 : performance.now());

const scrolled = () => {
  const reached = (100 * (scrollY + innerHeight)) / document.documentElement.scrollHeight;
  depth = Math.max(depth, Math.min(100, reached | 0));
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
    referrer: from.slice(0, 2048),
    language: navigator.language,
    screen_resolution: screen.width + "x" + screen.height,
    viewport_size: innerWidth + "x" + innerHeight,
  });
  from = location.href;
};

// The visible time since the last report: the reports of a page add up.
export const exit = () => {
  if (!since) return;
  scrolled();
  put({
    name: "page_exit",
    path: from.slice(0, 2048),
    time_on_page: Math.min(86400, (performance.now() - since) / 1e3),
    scroll_depth: depth,
  });
  since = 0;
};

// Frameworks set the title after the address, and may go through several addresses at once.
const moved = () => {
  if (shown == place()) return;
  exit();
  setTimeout(view, 100);
};

export const again = () => {
  shown = 0;
  view();
};

export const watchPage = () => {
  for (const name of ["pushState", "replaceState"]) {
    const original = history[name];
    history[name] = (...state) => {
      original.apply(history, state);
      moved();
    };
  }
  addEventListener("popstate", moved);
  addEventListener("scroll", scrolled);
  // Back from the browser's cache, where the visit before has been reported already.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) {
      since = 0;
      again();
    }
  });
  view();
};
