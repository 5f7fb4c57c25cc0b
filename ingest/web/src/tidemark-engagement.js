// tidemark-engagement.js: what was done on a page, as one item of /engagement when it is left.
import { watchClick } from "./dead_clicks.js";
import { addFacts } from "./facts.js";
import { leave, put } from "./queue.js";
import { onMove, place } from "./route.js";

const RAGE = { clicks: 3, ms: 1000, pixels: 30 };
const IDLE_MS = 5000;
const SCROLL_PAUSE_MS = 200;
const MOST = 65535;

const described = ({ localName, id, classList: [first] }) =>
  (localName + (id ? "#" + id : first ? "." + first : "")).slice(0, 64);

let shown;
let path;
// Whether this page was reported before, and what was done on it is a second report.
let returned;
let fields;
let lastFormField;
let start;
let last;
let active;
let firstAction;
let depth;
let scrolled = 0;
let counts;
let targets;
let clicks;
// Clicks and keys since the last `page_exit` of tidemark.js.
let presses = 0;

const press = (name) => {
  act(name);
  presses += 1;
};

const now = () => performance.now();

const begin = () => {
  start = last = now();
  active = firstAction = depth = 0;
  counts = { scroll: 0, click: 0, key: 0, copy: 0, rageClick: 0, deadClick: 0, formSubmit: 0, error: 0 };
  targets = {};
  clicks = [];
};

const enter = () => {
  shown = place();
  path = location.href.slice(0, 8192);
  returned = false;
  fields = new Set();
  lastFormField = undefined;
  begin();
};

const look = () => {
  const reached = (100 * (scrollY + innerHeight)) / document.documentElement.scrollHeight;
  depth = Math.max(depth, Math.min(100, reached | 0));
};

// A page is in use until nothing was done for a while.
const use = () => {
  active += Math.min(now() - last, IDLE_MS);
  last = now();
};

const act = (name) => {
  use();
  firstAction ||= now() - start;
  counts[name] += 1;
};

const seconds = (ms) => Math.min(86400, ms / 1e3);

const report = (exitType) => {
  if (!start || (returned && !Object.values(counts).some(Boolean))) return;
  use();
  look();
  const counted = Object.entries(counts).map(([name, count]) => [name + "Count", Math.min(count, MOST)]);
  put({
    ...Object.fromEntries(counted),
    ...targets,
    path,
    exitType,
    timeOnPage: seconds(now() - start),
    activeTime: seconds(active),
    timeToFirstInteraction: returned ? undefined : Math.round(firstAction),
    maxScrollDepth: depth,
    interactionCount: Math.min(counts.click + counts.key + counts.scroll, MOST),
    formFieldCount: Math.min(fields.size, MOST),
    lastFormField,
  });
  // What was filled in stays filled in until it is sent.
  if (counts.formSubmit) fields.clear();
  returned = true;
  start = 0;
};

const clicked = ({ isTrusted, target, timeStamp, clientX, clientY }) => {
  if (!isTrusted || !target.closest) return;
  press("click");
  const near = ([time, x, y]) =>
    timeStamp - time < RAGE.ms && Math.hypot(clientX - x, clientY - y) < RAGE.pixels;
  clicks = [...clicks.filter(near), [timeStamp, clientX, clientY]];
  if (clicks.length == RAGE.clicks) {
    counts.rageClick += 1;
    targets.rageClickTarget ??= described(target);
  }
  const page = counts;
  watchClick(target, (element) => {
    // The page may have been left since.
    if (page != counts) return;
    counts.deadClick += 1;
    targets.deadClickTarget ??= described(element);
  });
};

const typed = ({ target, isTrusted }) => {
  if (!isTrusted || !target.form) return;
  fields.add(target);
  // Its name, never what was typed.
  lastFormField = (target.name || target.id || target.type).slice(0, 64);
};

const moved = () => {
  if (shown == place()) return;
  report("spa");
  enter();
};

const hidden = () => {
  if (document.hidden) {
    report("hidden");
    leave();
  } else if (!start) begin();
};

const listeners = {
  click: clicked,
  keydown: ({ isTrusted, repeat }) => isTrusted && !repeat && press("key"),
  scroll: () => {
    if (now() - scrolled > SCROLL_PAUSE_MS) act("scroll");
    scrolled = now();
    look();
  },
  pointermove: use,
  copy: () => act("copy"),
  input: typed,
  submit: () => (counts.formSubmit += 1),
  // In the capture phase, a picture that does not load is one too; but it has no message.
  error: ({ message }) => message && (counts.error += 1),
  unhandledrejection: () => (counts.error += 1),
  pageshow: ({ persisted }) => persisted && enter(),
  pagehide: () => {
    report("unload");
    leave();
  },
  visibilitychange: hidden,
};

enter();
if (document.hidden) start = 0;
for (const type in listeners) addEventListener(type, listeners[type], true);
onMove(moved);
addFacts(() => {
  const count = Math.min(presses, 10000);
  presses = 0;
  return { interaction_count: count };
});
