// Ids. Visitor and session only with `data-persist`; without it the server's side makes them.
import { storage } from "./storage.js";

// crypto.randomUUID is not there on plain http pages.
export const unique = () => crypto.getRandomValues(new Uint32Array(4)).join("");

export const identity = () => {
  const now = Date.now();
  let [last, sessionId, anonymousId] = (storage() || "").split(" ");
  // Half an hour of silence ends a session.
  if (!(now - last < 18e5)) sessionId = unique();
  anonymousId ||= unique();
  // Ids that are not kept would make a visitor of every item.
  return storage(`${now} ${sessionId} ${anonymousId}`) && { anonymousId, sessionId };
};
