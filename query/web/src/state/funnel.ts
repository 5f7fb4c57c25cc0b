// The options of a funnel: what the address says, else the saved funnel that is open, else the defaults.
import type { Schemas } from "../types";
import { formatSteps, parseSteps, type Step, stepMember, stepOf } from "./steps";

export type SavedFunnel = Schemas["FunnelResource"];

export interface FunnelOptions {
  steps: Step[];
  /** Seconds from the first step to the last. */
  window: number;
  by: "visitor" | "session";
  /** A field; empty for none. */
  breakdown: string;
}

export const DAY = 86_400;
const DEFAULTS: FunnelOptions = { steps: [], window: 7 * DAY, by: "visitor", breakdown: "" };
/** In the address: without the breakdown that is saved. */
const NO_BREAKDOWN = "-";

function base(saved: SavedFunnel | null): FunnelOptions {
  if (!saved) return DEFAULTS;
  const { steps, window, by, breakdown } = saved;
  return { steps: steps.map(stepOf), window, by: by === "session" ? by : "visitor", breakdown: breakdown ?? "" };
}

export function optionsOf(own: Record<string, string>, saved: SavedFunnel | null): FunnelOptions {
  const { steps, window, by, breakdown } = base(saved);
  const counted = own.by_session ? (own.by_session === "1" ? "session" : "visitor") : by;
  return {
    steps: (own.steps && parseSteps(own.steps)) || steps,
    window: Number(own.window) || window,
    by: counted,
    breakdown: own.breakdown === NO_BREAKDOWN ? "" : own.breakdown || breakdown,
  };
}

/** The parameters of the address for these options; empty for what is as saved. */
export function ownOf({ steps, window, by, breakdown }: FunnelOptions, saved: SavedFunnel | null): Record<string, string> {
  const known = base(saved);
  const text = formatSteps(steps);
  return {
    steps: text === formatSteps(known.steps) ? "" : text,
    window: window === known.window ? "" : String(window),
    by_session: by === known.by ? "" : by === "session" ? "1" : "0",
    breakdown: breakdown === known.breakdown ? "" : breakdown || NO_BREAKDOWN,
  };
}

export const differs = (options: FunnelOptions, saved: SavedFunnel): boolean => Object.values(ownOf(options, saved)).some(Boolean);

/** The body that saves them. */
export const savedBody = ({ steps, window, by, breakdown }: FunnelOptions) =>
  ({ steps: steps.map(stepMember), window, by, breakdown: breakdown || null });

/** The options of the query type. */
export function queryOptions(options: FunnelOptions) {
  const { breakdown, ...members } = savedBody(options);
  return { ...members, ...(breakdown ? { breakdown } : {}) };
}
