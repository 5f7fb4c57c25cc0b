// Items wait here for a moment, travel together, and leave with the page.
import { identity, unique } from "./identity.js";
import { base, given, refused } from "./tag.js";

// The route is the bundle's own: see ../build.js.
const url = base + ROUTE + given.websiteId;
let items = [];
let pause = 1e3;
let timer;

// Text needs no preflight, and a page that goes away takes a small body with it.
const send = (leaving) => {
  timer = 0;
  const batch = items.splice(0, 50);
  const body = JSON.stringify(batch);
  if (!batch[0] || refused() || (leaving && navigator.sendBeacon?.(url, body))) return;
  fetch(url, { method: "POST", body, keepalive: body.length < 2e4 })
    .catch((error) => error)
    .then(({ status }) => {
      // What is not good now never will be; no status at all is no answer.
      if (status < 429) pause = 1e3;
      else {
        // Later, with the same event ids, so that what did arrive is not counted twice.
        items = batch.concat(items);
        pause = Math.min(pause * 2, 3e5);
      }
      timer ||= setTimeout(send, pause);
    });
};

export const put = (facts) => {
  if (refused()) return;
  items.push({
    eventId: unique(),
    timestamp: Date.now(),
    path: location.href.slice(0, 8192),
    // A zone tells a country where nothing else does, of every item alike.
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...("persist" in given && identity()),
    ...facts,
  });
  if (document.hidden) queueMicrotask(leave);
  timer ||= setTimeout(send, pause);
};

export const leave = () => {
  while (items[0]) send(1);
};
