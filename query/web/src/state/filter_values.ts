// Values of filters as people type them, and as they are stored.
import { texts } from "../texts";
import { eventName } from "./event_kinds";
import type { Condition } from "./filters";
import { countryName, languageName } from "./format";

const PATH_FIELDS = ["path", "did.path", "visit.entry_page", "visit.exit_page"];
/** Operators that compare with whole values. */
const WHOLE = ["eq", "ne", "in", "not_in"];

const EVENT_FIELDS = ["name", "did.event"];
/** Fields whose values have words of the page, without `visit.`. */
const NAMES: Record<string, Record<string, string>> = {
  channel: texts.names.channel, referrer: texts.names.referrer, referrer_name: texts.names.referrer, referrer_type: texts.names.referrerType,
  device_type: texts.names.device, purpose: texts.names.purpose, "visitor.is_new": texts.names.boolean, trusted: texts.names.boolean,
};

/** What the page shows for a stored value of a field. */
export function shownValue(field: string, value: string): string {
  if (EVENT_FIELDS.includes(field)) return eventName(value);
  if (field.endsWith("country")) return countryName(value);
  if (field.endsWith("language")) return languageName(value);
  if (field === "bot_reason") return value.replace(/^[^:]*/, (purpose) => shownValue("purpose", purpose)); // `purpose: name`
  const names = NAMES[field.replace(/^visit\./, "")] ?? {};
  return Object.hasOwn(names, value) ? names[value]! : value;
}

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
