// Kinds of events by the names that are stored, and their words.
import { texts } from "../texts";

export type Kind = "page_view" | "page_exit" | "event" | "outbound" | "error";

const PAGE_VIEWS = ["screen_view", "pageview"];

/** The kind of an event by its name, as the visitor's timeline has it. */
export const kindOf = (name: string): Kind =>
  PAGE_VIEWS.includes(name) ? "page_view" : name === "page_exit" ? "page_exit" : name === "outgoing_link" ? "outbound" : "event";

/** The words of a stored name; a name that a sender chose stays as it is. */
export const eventName = (name: string): string => (kindOf(name) === "event" ? name : texts.timeline.kinds[kindOf(name)]);
