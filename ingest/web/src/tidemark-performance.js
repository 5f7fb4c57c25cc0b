// tidemark-performance.js: the load times of the page, sent with its first `page_exit`.
import { addFacts } from "./facts.js";
import { place } from "./route.js";

const [entry] = performance.getEntriesByType("navigation");

// An application that has moved on by now leaves another page than the one that was loaded.
let due = entry && place(entry.name) == place();

// Whole milliseconds, in the bounds of the collector.
const between = (start, end) => {
  const passed = Math.round(end - start);
  return passed >= 0 && passed <= 6e4 ? passed : undefined;
};

addFacts(() => {
  if (!due) return;
  due = false;
  if (!entry.loadEventEnd) return;
  // A page that was prepared loads from when it is shown.
  const start = entry.activationStart || 0;
  const until = (time) => between(start, Math.max(start, time));
  return {
    load_time: until(entry.loadEventEnd),
    dom_ready_time: until(entry.domContentLoadedEventEnd),
    dom_interactive: until(entry.domInteractive),
    ttfb: until(entry.responseStart),
    request_time: between(entry.requestStart, entry.responseEnd),
    render_time: between(entry.domInteractive, entry.domComplete),
  };
});
