// The script's own tag: the website, where items go, and whether anything may be sent.
import { storage } from "./storage.js";

// A module has no `currentScript`. The selector is the bundle's own: see ../build.js.
const tag = document.currentScript || document.querySelector(TAG);

if (!tag?.dataset.websiteId) throw "no data-website-id";

export const given = tag.dataset;

// Beside the script itself, so that a site may serve both under a path of its own.
export const base = given.collectUrl?.replace(/\/?$/, "/") || new URL(".", tag.src);

// The selector names the script: a second tag of the same script and website on this page adds nothing.
export const mark = TAG + given.websiteId;
export const pastedTwice = window[mark];
window[mark] = 1;

// Whether ids may be kept and sent: only after consent, where the tag asks for it.
export const agreed = () => !given.consent || !!(window.tidemark?.yes || storage());

export const refused = () =>
  pastedTwice ||
  // A page in a frame is part of the page around it.
  (top != self && !("frames" in given)) ||
  // The collector may count such browsers without ids.
  (navigator.globalPrivacyControl && !("gpc" in given)) ||
  "optout" in given ||
  storage() == "optout";
