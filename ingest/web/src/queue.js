// Items wait here for a moment, travel together, and leave with the page.
import { identity, unique } from "./identity.js";
import { agreed, base, given, refused } from "./tag.js";
import { keepUnsent, takeUnsent } from "./unsent.js";

// The route is the bundle's own: see ../build.js.
const url = base + ROUTE + given.websiteId;
let items = refused() ? [] : takeUnsent();
// Whether what was sent last may not have arrived.
let failed = items[0];
let flying = [];
let pause = 1e3;

// Text needs no preflight, and a page that goes away takes a small body with it.
const send = (leaving) => {
  timer = 0;
  const batch = items.splice(0, 50);
  const body = JSON.stringify(batch);
  if (!batch[0] || refused() || (leaving && navigator.sendBeacon?.(url, body))) return;
  flying = flying.concat(batch);
  fetch(url, { method: "POST", body, keepalive: body.length < 2e4 })
    .catch((error) => error)
    .then(({ status }) => {
      flying = flying.filter((item) => !batch.includes(item));
      // What is not good now never will be; no status at all is no answer.
      if (status < 429) {
        pause = 1e3;
        // Also what left in beacons, which tell no status.
        if (failed) items = items.concat(takeUnsent());
        failed = 0;
      } else {
        failed = 1;
        // Later, with the same event ids, so that what did arrive is not counted twice.
        items = batch.concat(items);
        pause = Math.min(pause * 2, 3e5);
      }
      timer ||= setTimeout(send, pause);
    });
};

let timer = items[0] && setTimeout(send, pause);

export const put = (facts) => {
  if (refused()) return;
  items.push({
    eventId: unique(),
    timestamp: Date.now(),
    path: location.href.slice(0, 8192),
    // A zone tells a country where nothing else does, of every item alike.
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    consent: given.consent && agreed(),
    ...("persist" in given && agreed() && identity()),
    ...facts,
  });
  if (document.hidden) queueMicrotask(leave);
  timer ||= setTimeout(send, pause);
};

export const leave = () => {
  if ((failed || flying[0]) && !refused() && agreed()) keepUnsent(flying.concat(items));
  flying = []; // browsers tell twice that a page is left
  while (items[0]) send(1);
};
