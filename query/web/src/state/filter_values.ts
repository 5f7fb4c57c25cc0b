// Values of filters as people type them, and as they are stored.
import { eventName } from "./event_kinds";
import type { Condition } from "./filters";
import { countryName, languageName } from "./format";

const PATH_FIELDS = ["path", "did.path", "visit.entry_page", "visit.exit_page"];
/** Operators that compare with whole values. */
const WHOLE = ["eq", "ne", "in", "not_in"];

const EVENT_FIELDS = ["name", "did.event"];

/** The name of a stored value that the page shows. */
export const shownValue = (field: string, value: string): string =>
  EVENT_FIELDS.includes(field) ? eventName(value)
    : field.endsWith("country") ? countryName(value) : field.endsWith("language") ? languageName(value) : value;

/** The condition with stored values for typed ones; `known` are values of its field, frequent ones first. */
export function normalized(condition: Condition, known: string[]): Condition {
  const { field, operator, value } = condition;
  const stored = (text: string | null) => text && storedValue(field, operator, text, known);
  if (Array.isArray(value)) return { ...condition, value: value.map(stored) };
  return typeof value === "string" ? { ...condition, value: stored(value) } : condition;
}

/** The value that is meant: as it was typed, in other case, or by its name. */
function storedValue(field: string, operator: string, typed: string, known: string[]): string {
  const text = PATH_FIELDS.includes(field) ? pathOf(operator, typed) : typed;
  if (!WHOLE.includes(operator)) return text;
  const isMeant = (each: string) => each.toLowerCase() === text.trim().toLowerCase();
  return [typed, text].find((each) => known.includes(each)) ?? known.find(isMeant)
    ?? known.find((each) => isMeant(shownValue(field, each))) ?? text;
}

/** The path of a page, or of its whole address, without the query and a slash at the end; parts of paths stay. */
function pathOf(operator: string, typed: string): string {
  const isAddress = /^\s*https?:\/\//i.test(typed);
  if (!WHOLE.includes(operator) && !isAddress) return operator === "starts_with" && !typed.startsWith("/") ? `/${typed}` : typed;
  const [, path = "", route = ""] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)[^#]*(?:#!?(\/[^?]*))?/i.exec(typed.trim())!;
  return withSlash(path) + (route.length > 1 ? `#${withSlash(route)}` : "");
}

function withSlash(path: string): string {
  try {
    return `/${decodeURIComponent(path).replace(/^\/+|\/+$/g, "")}`;
  } catch {
    return `/${path.replace(/^\/+|\/+$/g, "")}`;
  }
}
