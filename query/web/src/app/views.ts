// The views: each is a module of its own, loaded when it is opened.
import type { ComponentType } from "preact";
import { texts } from "../texts";

export interface View {
  id: string;
  /** The letter that opens it; by default a digit. */
  key?: string;
  label: string;
  group: keyof typeof texts.viewGroups;
  load: () => Promise<{ default: ComponentType }>;
  /** Scope that the view needs beside read:data. */
  scope?: string;
  /** Whether the time range and the filters of the page are of use. */
  ranged: boolean;
  /** Whether only the time range of the page is of use, and no filter. */
  unfiltered?: boolean;
  /** Whether something in the view, or in one opened item of it, is compared with another time range. */
  compares?: boolean | "item";
  /** Whether a shared dashboard shows it. */
  shared?: boolean;
  /** Whether its queries are asked again only when somebody wants it. */
  manual?: boolean;
  /** Reached from other views only. */
  hidden?: boolean;
}

export const VIEWS: View[] = [
  { id: "overview", label: texts.views.overview, group: "look", load: () => import("../views/overview"), ranged: true, compares: true, shared: true },
  { id: "list", label: texts.views.list, group: "look", load: () => import("../views/list"), ranged: true, compares: true, shared: true, hidden: true },
  { id: "live", label: texts.views.live, group: "look", load: () => import("../views/live"), ranged: false, shared: true },
  { id: "sessions", label: texts.views.sessions, group: "people", load: () => import("../views/sessions"), ranged: true },
  { id: "visitors", label: texts.views.visitors, group: "people", load: () => import("../views/visitors"), ranged: true },
  { id: "events", label: texts.views.events, group: "behavior", load: () => import("../views/events"), ranged: true, compares: true, shared: true },
  { id: "paths", label: texts.views.paths, group: "behavior", load: () => import("../views/paths"), ranged: true, shared: true },
  { id: "funnels", label: texts.views.funnels, group: "behavior", load: () => import("../views/funnels"), ranged: true, shared: true },
  { id: "goals", label: texts.views.goals, group: "behavior", load: () => import("../views/goals"), ranged: true, compares: true },
  { id: "retention", label: texts.views.retention, group: "behavior", load: () => import("../views/retention"), ranged: true, shared: true },
  { id: "vitals", label: texts.views.vitals, group: "quality", load: () => import("../views/vitals"), ranged: true, compares: true, shared: true },
  { id: "errors", key: "e", label: texts.views.errors, group: "quality", load: () => import("../views/errors"), ranged: true, compares: true },
  { id: "bots", key: "b", label: texts.views.bots, group: "quality", load: () => import("../views/bots"), ranged: true },
  { id: "explore", key: "x", label: texts.views.explore, group: "tools", load: () => import("../views/explore"), ranged: true, manual: true },
  { id: "links", key: "l", label: texts.views.links, group: "tools", load: () => import("../views/links"), ranged: true, compares: "item", unfiltered: true, scope: "read:links" },
  { id: "shares", key: "s", label: texts.views.shares, group: "tools", load: () => import("../views/shares"), ranged: true, manual: true, scope: "manage:websites" },
  { id: "setup", key: "u", label: texts.views.setup, group: "tools", load: () => import("../views/setup"), ranged: false, manual: true, scope: "manage:websites" },
];

export const findView = (id: string): View | undefined => VIEWS.find((view) => view.id === id);
