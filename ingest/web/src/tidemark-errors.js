// tidemark-errors.js: errors that nobody caught; each once, and at most ten of a page.
import { leave, put } from "./queue.js";
import { given } from "./tag.js";

const MOST = 10;
// Another host's script shows nothing of its errors; those of extensions and of the browser are not the page's.
const FOREIGN =
  /^Script error\.?$|\b([a-z-]+-extension|webkit-masked-url|chrome|resource):\/\/|\buser-script:\d/;

const seen = new Set();

// Anything may be thrown, so that anything may stand where a text is expected.
const text = (value, most) => (value == null ? undefined : String(value).slice(0, most));

// Of an object the names of its members, and values only of numbers: others may be secret.
const described = (value) => {
  const isBare =
    value &&
    typeof value == "object" &&
    (!value.toString || value.toString == {}.toString) &&
    !value[Symbol.toStringTag];
  if (!isBare) return String(value);
  const members = Object.entries(value).map(([name, member]) =>
    typeof member == "number" ? `${name}: ${member}` : name,
  );
  return `{${members.join(", ")}}`;
};

const messageOf = (thrown) => described(thrown?.message ?? thrown);

function report(message, error, { filename = "", lineno, colno }) {
  message = message.slice(0, 2048);
  const stack = text(error?.stack, 4096);
  const same = [message, filename, lineno].join();
  if ([filename || message, stack].some((part) => FOREIGN.test(part))) return;
  if (seen.size >= MOST || seen.has(same)) return;
  seen.add(same);
  put({
    message,
    filename: text(filename, 2048),
    lineno,
    colno,
    stack,
    errorType: text(error?.name, 128),
    release: text(given.release, 64),
  });
}

addEventListener("error", (event) => {
  const { error, message } = event;
  // Of an object that is no error, browsers say only that it is an object.
  const isObject = error && typeof error == "object" && !error.stack;
  report(isObject ? `Uncaught ${messageOf(error)}` : String(message), error, event);
});
addEventListener("unhandledrejection", ({ reason }) => report(messageOf(reason), reason, {}));
for (const type of ["pagehide", "visibilitychange"]) addEventListener(type, leave);
