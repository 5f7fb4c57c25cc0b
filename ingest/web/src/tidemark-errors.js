// tidemark-errors.js: errors that nobody caught; each once, and at most ten of a page.
import { leave, put } from "./queue.js";

const MOST = 10;
const FOREIGN = /^(Script error\.?)?$|\b(chrome|moz|safari(-web)?)-extension:/;

const seen = new Set();

function report(message, error, { filename = "", lineno, colno }) {
  const stack = String(error?.stack || "").slice(0, 4096);
  const same = [message, filename, lineno].join();
  // Another host's script shows nothing of its errors, and an extension is not the page's.
  if ((FOREIGN.test(message) && !filename) || FOREIGN.test(filename + stack + " ")) return;
  if (seen.size >= MOST || seen.has(same)) return;
  seen.add(same);
  put({
    message: message.slice(0, 2048),
    filename: filename.slice(0, 2048),
    lineno,
    colno,
    stack,
    errorType: error?.name,
  });
}

addEventListener("error", (event) => report(event.message, event.error, event));
addEventListener("unhandledrejection", ({ reason }) =>
  report(String(reason?.message ?? reason), reason, {}),
);
for (const type of ["pagehide", "visibilitychange"]) addEventListener(type, leave);
