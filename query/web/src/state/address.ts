// The state of the page is its address: website, view, period, comparison, filters and the view's own parameters.
import { computed, signal } from "@preact/signals";
import { parseExploration } from "./exploration";
import { type Filter, formatFilter, parseFilter } from "./filters";
import { AVERAGED } from "./moving_average";
import {
  DEFAULT_PERIOD, formatPeriod, type Granularity, GRANULARITIES, isDate, parseDays, parsePeriod, type Period,
} from "./period";
import { parseQuestion } from "./question";
import { decoded, parseSteps } from "./steps";
import { parseTimeZone } from "./time_zones";

export const COMPARISONS = ["previous_period", "same_weekdays", "previous_year", "none"] as const;
export type Comparison = (typeof COMPARISONS)[number] | `${string}..${string}`;

export interface Address {
  /** `/s/TOKEN` of a shared dashboard, else the website's id; empty before one is chosen. */
  base: string;
  view: string;
  /** What follows the view in the path, such as the id of a visitor. */
  item: string;
  period: Period;
  compare: Comparison;
  granularity: Granularity | null;
  timezone: string | null;
  filters: Filter[];
  bots: boolean;
  /** Parameters that belong to one view. */
  own: Record<string, string>;
  /** Names of the parameters that could not be read; they have their defaults. */
  unread: string[];
}

const SHARED = ["period", "compare", "by", "tz", "f", "bots"];
const DEFAULT_VIEW = "overview";

const parseComparison = (text: string): Comparison | null =>
  COMPARISONS.find((each) => each === text) ?? (parseDays(text) && (text as Comparison));

const parseGranularity = (text: string): Granularity | null => GRANULARITIES.find((each) => each === text) ?? null;

/** What the parameters of views may be; one that is anything else is left out, and the view shows its default. */
type Check = (text: string) => boolean;

const isPage: Check = (text) => /^[1-9]\d{0,8}$/.test(text);
const isNumber: Check = (text) => /^\d{1,15}$/.test(text);

const isSort: Check = (text) => /^\w+(:asc|:desc)?$/.test(text);

const OF_ALL: Record<string, Check> = { average: (text) => text === String(AVERAGED), page: isPage, entries: isPage, paths: isPage, sort: isSort };
const OF_VIEWS: Record<string, Record<string, Check>> = {
  errors: { line: isNumber },
  explore: { ask: (text) => parseQuestion(text) !== null, q: (text) => parseExploration(text) !== null },
  funnels: { steps: (text) => parseSteps(text) !== null, window: isPage },
  retention: { cohort: isDate, after: isNumber },
  setup: { before: isNumber },
  vitals: { groupPage: isPage, groupSort: isSort },
};

/** Whether a view can read one of its parameters; those without a check are texts or names, which it looks up. */
function isReadable(view: string, name: string, text: string): boolean {
  const checks = { ...OF_ALL, ...(Object.hasOwn(OF_VIEWS, view) ? OF_VIEWS[view] : {}) };
  return !text || !Object.hasOwn(checks, name) || checks[name]!(text);
}

/** Everything is checked here: a view can rely on what an address says. */
export function parseAddress(path: string, search: string): Address {
  const parts = path.split("/").filter(Boolean).map((part) => decoded(part) ?? part);
  const shared = parts[0] === "s";
  const [view = DEFAULT_VIEW, ...item] = parts.slice(shared ? 2 : 1);
  const query = new URLSearchParams(search);
  const unread = new Set<string>();
  const read = <Value>(name: string, parse: (text: string) => Value | null): Value | null => {
    const text = query.get(name);
    const value = text ? parse(text) : null;
    if (text && value === null) unread.add(name);
    return value;
  };
  const filters = query.getAll("f").map(parseFilter);
  if (filters.includes(null)) unread.add("f");
  const own = [...query].filter(([name]) => !SHARED.includes(name));
  const readable = own.filter(([name, text]) => isReadable(view, name, text) || !unread.add(name));
  return {
    base: shared ? `s/${parts[1] ?? ""}` : (parts[0] ?? ""),
    view,
    item: item.join("/"),
    period: read("period", parsePeriod) ?? DEFAULT_PERIOD,
    compare: read("compare", parseComparison) ?? "previous_period",
    granularity: read("by", parseGranularity),
    timezone: read("tz", parseTimeZone),
    filters: filters.filter((each) => each !== null),
    bots: query.get("bots") === "1",
    own: Object.fromEntries(readable),
    unread: [...unread],
  };
}

export function formatAddress(address: Address): string {
  const query = new URLSearchParams();
  const period = formatPeriod(address.period);
  if (period !== "last_7d") query.set("period", period);
  if (address.compare !== "previous_period") query.set("compare", address.compare);
  if (address.granularity) query.set("by", address.granularity);
  if (address.timezone) query.set("tz", address.timezone);
  if (address.bots) query.set("bots", "1");
  for (const filter of address.filters) query.append("f", formatFilter(filter));
  for (const [name, value] of Object.entries(address.own)) if (value) query.set(name, value);
  const base = address.base.split("/").filter(Boolean);
  const parts = base.length ? [...base, address.view, ...(address.item ? [address.item] : [])] : [];
  const path = parts.map(encodeURIComponent).join("/");
  const text = query.toString().replaceAll("%3A", ":").replaceAll("%2F", "/");
  return `/${path}${text ? `?${text}` : ""}`;
}

const here = signal(location.pathname + location.search);
addEventListener("popstate", () => (here.value = location.pathname + location.search));

export const address = computed<Address>(() => {
  const [path = "/", ...search] = here.value.split("?");
  return parseAddress(path, search.join("?"));
});

/** What the page compares with: before all time there is nothing. */
export const comparison = computed<Comparison>(() => (address.value.period === "all" ? "none" : address.value.compare));

/** The address after some changes; the parameters of a view are dropped when the view changes. */
export function addressWith(changes: Partial<Address>): string {
  const now = address.value;
  const leaves = changes.view !== undefined && changes.view !== now.view;
  return formatAddress({ ...now, ...(leaves ? { own: {}, item: "" } : {}), ...changes });
}

/** What Explore asked before it was left; the way back leads to it. */
let asked: Pick<Address, "base" | "item" | "own"> | null = null;

/** The address of a view as the navigation opens it. */
export function viewAddress(view: string): string {
  const { base, view: open } = address.value;
  const again = view === "explore" && open !== view && asked?.base === base ? asked : null;
  return addressWith({ view, item: again?.item ?? "", own: again?.own ?? {} });
}

export function go(changes: Partial<Address> | string, { replace = false } = {}): void {
  const target = typeof changes === "string" ? changes : addressWith(changes);
  if (target === here.value) return;
  if (address.value.view === "explore") asked = address.value;
  history[replace ? "replaceState" : "pushState"](null, "", target);
  here.value = target;
}

/** Changes parameters of the view; an empty text removes one. */
export const goOwn = (own: Record<string, string>, options?: { replace?: boolean }): void =>
  go({ own: { ...address.value.own, ...own } }, options);

/** Opens a link of the dashboard without loading the page again. */
export function follow(event: MouseEvent): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const link = event.currentTarget as HTMLAnchorElement;
  go(link.pathname + link.search);
}
