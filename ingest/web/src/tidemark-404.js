// tidemark-404.js: an event `404` on pages whose status is 404 or whose `<meta>` says so.
import { leave, put } from "./queue.js";

const [entry] = performance.getEntriesByType("navigation");
// Not every browser tells the status, and the page of an application has another one.
const meta = document.querySelector("meta[name=tidemark-status]");

const report = () =>
  put({
    name: "404",
    interactive: false,
    properties: {
      path: location.pathname.slice(0, 2048),
      referrer: document.referrer.split(/[?#]/)[0].slice(0, 2048) || undefined,
    },
  });

if ((meta?.content || entry?.responseStatus) == 404)
  // A page that is only prepared has not been seen.
  if (document.prerendering) document.addEventListener("prerenderingchange", report);
  else report();
for (const type of ["pagehide", "visibilitychange"]) addEventListener(type, leave);
