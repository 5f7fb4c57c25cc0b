// The module of each view, loaded when the view is opened.
import type { ComponentType } from "preact";
import type { ViewId } from "../state/views";

const MODULES: Record<ViewId, () => Promise<{ default: ComponentType }>> = {
  websites: () => import("../views/websites"),
  overview: () => import("../views/overview"),
  list: () => import("../views/list"),
  live: () => import("../views/live"),
  sessions: () => import("../views/sessions"),
  visitors: () => import("../views/visitors"),
  events: () => import("../views/events"),
  paths: () => import("../views/paths"),
  funnels: () => import("../views/funnels"),
  goals: () => import("../views/goals"),
  retention: () => import("../views/retention"),
  vitals: () => import("../views/vitals"),
  errors: () => import("../views/errors"),
  bots: () => import("../views/bots"),
  explore: () => import("../views/explore"),
  boards: () => import("../views/boards"),
  links: () => import("../views/links"),
  shares: () => import("../views/shares"),
  design: () => import("../views/design"),
  setup: () => import("../views/setup"),
};

export const loadView = (id: ViewId): Promise<{ default: ComponentType }> => MODULES[id]();
