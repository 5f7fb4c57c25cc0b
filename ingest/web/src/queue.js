// Items wait here for a moment, travel together, and leave with the page.
import { identity, unique } from "./identity.js";
import { base, given, refused } from "./tag.js";

const FULL = 50;
export const LONGEST = 2048;

// The route is the bundle's own: see ../build.js.
const url = base + ROUTE + given.websiteId;
let items = [];
let pause = 1e3;
let timer;

export const put = (facts) => {
  if (refused()) return;
  items.push({
    eventId: unique(),
    timestamp: Date.now(),
    path: location.href.slice(0, LONGEST),
    ...("persist" in given && identity()),
    ...facts,
  });
  if (document.hidden || items.length == FULL) queueMicrotask(leave);
  timer ||= setTimeout(send, pause);
};

// Text needs no preflight, and a page that goes away takes a small body with it.
const send = (leaving) => {
  timer = 0;
  const batch = items.splice(0);
  const body = JSON.stringify(batch);
  if (!batch[0] || refused() || (leaving && navigator.sendBeacon?.(url, body))) return;
  fetch(url, { method: "POST", body, keepalive: body.length < 2e4 })
    .then(({ status }) => {
      if (status > 428) throw status;
      pause = 1e3;
    })
    // Later, with the same event ids, so that what did arrive is not counted twice.
    .catch(() => {
      items = batch.concat(items).slice(0, FULL);
      timer ||= setTimeout(send, (pause *= 2));
    });
};

export const leave = () => send(1);
