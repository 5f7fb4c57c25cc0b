// tidemark-vitals.js: LCP, CLS, INP, FCP and TTFB as the web-vitals package measures them.
import { onCLS, onFCP, onINP, onLCP, onTTFB } from "web-vitals";
import { leave, put } from "./queue.js";

// A value that grows after the page was hidden has the same id, and is counted once.
const report = ({ id, name, value, navigationURL }) =>
  put({
    eventId: id,
    metricName: name,
    metricValue: value,
    ...(navigationURL && { path: navigationURL }),
  });

for (const on of [onCLS, onFCP, onINP, onLCP, onTTFB]) on(report);
for (const type of ["pagehide", "visibilitychange"]) addEventListener(type, leave);
