// The script's own tag: whose pages these are, where items go, and whether anything may be sent.
import { storage } from "./storage.js";

export const tag = document.currentScript;

export const given = tag.dataset;

// Beside the script itself, so that a site may serve both under a path of its own.
export const base = given.collectUrl?.replace(/\/?$/, "/") || new URL(".", tag.src);

export const refused = () =>
  navigator.globalPrivacyControl || "optout" in given || storage() == "optout";
