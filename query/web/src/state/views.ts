// The views of the dashboard, in the order of the navigation.
import { texts } from "../texts";
import type { IconName } from "../types";

/** Each is a module of its own, which `app/load_view.ts` names. */
export type ViewId =
  | "websites" | "overview" | "list" | "live" | "sessions" | "visitors" | "events" | "paths" | "funnels" | "goals"
  | "retention" | "vitals" | "errors" | "bots" | "explore" | "boards" | "links" | "shares" | "setup" | "design";

export interface View {
  id: ViewId;
  /** The letter that opens it; by default a digit. */
  key?: string;
  label: string;
  icon: IconName;
  group: keyof typeof texts.viewGroups;
  /** Scopes of which the view needs one beside read:data. */
  scopes?: string[];
  /** Whether it is needed in the whole organization. */
  ofWhole?: boolean;
  /** Whether the time range and the filters of the page are of use. */
  ranged: boolean;
  /** Whether only the time range of the page is of use, and no filter. */
  unfiltered?: boolean;
  /** Whether something in the view, or in one opened item of it, is compared with another time range. */
  compares?: boolean | "item";
  /** Whether a shared dashboard shows it. */
  shared?: boolean;
  /** Whether its queries run again only on request. */
  manual?: boolean;
  /** Reached from other views only. */
  hidden?: boolean;
  /** Whether it is about all websites of the key, or about one alone; by default it can be about both. */
  of?: "all" | "one";
}

export const VIEWS: View[] = [
  { id: "websites", key: "o", label: texts.views.websites, icon: "layout-grid", group: "look", ranged: true, compares: true, of: "all" },
  { id: "overview", label: texts.views.overview, icon: "layout-dashboard", group: "look", ranged: true, compares: true, shared: true },
  { id: "list", label: texts.views.list, icon: "list", group: "look", ranged: true, compares: true, shared: true, hidden: true },
  { id: "live", label: texts.views.live, icon: "activity", group: "look", ranged: false, shared: true },
  { id: "sessions", label: texts.views.sessions, icon: "footprints", group: "people", ranged: true },
  { id: "visitors", label: texts.views.visitors, icon: "users", group: "people", ranged: true },
  { id: "events", label: texts.views.events, icon: "mouse-pointer-click", group: "behavior", ranged: true, compares: true, shared: true },
  { id: "paths", label: texts.views.paths, icon: "route", group: "behavior", ranged: true, shared: true },
  { id: "funnels", label: texts.views.funnels, icon: "funnel", group: "behavior", ranged: true, shared: true, of: "one" },
  { id: "goals", label: texts.views.goals, icon: "goal", group: "behavior", ranged: true, compares: true, of: "one" },
  { id: "retention", label: texts.views.retention, icon: "repeat", group: "behavior", ranged: true, shared: true },
  { id: "vitals", label: texts.views.vitals, icon: "gauge", group: "quality", ranged: true, compares: true, shared: true },
  { id: "errors", key: "e", label: texts.views.errors, icon: "bug", group: "quality", ranged: true, compares: true },
  { id: "bots", key: "b", label: texts.views.bots, icon: "bot", group: "quality", ranged: true, compares: true },
  { id: "explore", key: "x", label: texts.views.explore, icon: "compass", group: "tools", ranged: true, compares: true, manual: true },
  { id: "boards", key: "p", label: texts.views.boards, icon: "layout-panel-left", group: "tools", ranged: true, compares: true, of: "one" },
  { id: "links", key: "l", label: texts.views.links, icon: "link", group: "tools", ranged: true, compares: "item", unfiltered: true, scopes: ["read:links"], ofWhole: true, of: "one" },
  { id: "shares", key: "s", label: texts.views.shares, icon: "share-2", group: "tools", ranged: true, manual: true, scopes: ["manage:websites"], of: "one" },
  { id: "setup", key: "u", label: texts.views.setup, icon: "settings", group: "tools", ranged: false, manual: true, scopes: ["manage:websites", "write:records"], of: "one" },
  { id: "design", label: texts.views.design, icon: "layers", group: "tools", ranged: false, manual: true, hidden: true },
];

export const findView = (id: string): View | undefined => VIEWS.find((view) => view.id === id);
