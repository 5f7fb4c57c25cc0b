// tidemark-vitals.js: LCP, CLS, INP, FCP and TTFB as the web-vitals package measures them.
import { onCLS, onFCP, onINP, onLCP, onTTFB } from "web-vitals";
import { leave, put } from "./queue.js";

function report({ name, value, navigationURL }) {
  put({ metricName: name, metricValue: value, ...(navigationURL && { path: navigationURL }) });
}

for (const on of [onCLS, onFCP, onINP, onLCP, onTTFB]) on(report);
for (const type of ["pagehide", "visibilitychange"]) addEventListener(type, leave);
