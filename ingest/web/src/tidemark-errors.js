// tidemark-errors.js: errors that nobody caught; each once, and at most ten of a page.
import { leave, put } from "./queue.js";

const MOST = 10;
const FOREIGN = /^Script error\.?$|\b(chrome|moz|safari(-web)?)-extension:/;

const seen = new Set();

// Anything may be thrown, so that anything may stand where a text is expected.
const text = (value, most) => (value == null ? undefined : String(value).slice(0, most));

function report(said, error, { filename = "", lineno, colno }) {
  const message = String(said).slice(0, 2048);
  const stack = text(error?.stack, 4096);
  const same = [message, filename, lineno].join();
  // Another host's script shows nothing of its errors, and an extension is not the page's.
  if ((FOREIGN.test(message) && !filename) || FOREIGN.test(`${filename} ${stack}`)) return;
  if (seen.size >= MOST || seen.has(same)) return;
  seen.add(same);
  put({
    message,
    filename: text(filename, 2048),
    lineno,
    colno,
    stack,
    errorType: text(error?.name, 128),
  });
}

addEventListener("error", (event) => report(event.message, event.error, event));
addEventListener("unhandledrejection", ({ reason }) =>
  report(reason?.message ?? reason, reason, {}),
);
for (const type of ["pagehide", "visibilitychange"]) addEventListener(type, leave);
