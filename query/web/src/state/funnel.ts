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
  /** Whether nothing else may lie between steps. */
  isStrict: boolean;
  /** What may not lie between steps. */
  exclusions: Step[];
}

export const DAY = 86_400;
const DEFAULTS: FunnelOptions = { steps: [], window: 7 * DAY, by: "visitor", breakdown: "", isStrict: false, exclusions: [] };
/** In the address: without the breakdown or the exclusions that are saved. */
const NONE = "-";

function base(saved: SavedFunnel | null): FunnelOptions {
  if (!saved) return DEFAULTS;
  const { steps, window, by, breakdown, order, exclusions } = saved;
  return {
    steps: steps.map(stepOf), window, by: by === "session" ? by : "visitor", breakdown: breakdown ?? "", isStrict: order === "strict", exclusions: exclusions.map(stepOf),
  };
}

export function optionsOf(own: Record<string, string>, saved: SavedFunnel | null): FunnelOptions {
  const { steps, window, by, breakdown, isStrict, exclusions } = base(saved);
  const counted = own.by_session ? (own.by_session === "1" ? "session" : "visitor") : by;
  return {
    steps: (own.steps && parseSteps(own.steps)) || steps,
    window: Number(own.window) || window,
    by: counted,
    breakdown: own.breakdown === NONE ? "" : own.breakdown || breakdown,
    isStrict: own.strict ? own.strict === "1" : isStrict,
    exclusions: own.without === NONE ? [] : (own.without && parseSteps(own.without)) || exclusions,
  };
}

/** The parameters of the address for these options; empty for what is as saved. */
export function ownOf({ steps, window, by, breakdown, isStrict, exclusions }: FunnelOptions, saved: SavedFunnel | null): Record<string, string> {
  const known = base(saved);
  const text = formatSteps(steps);
  const without = formatSteps(exclusions);
  return {
    steps: text === formatSteps(known.steps) ? "" : text,
    window: window === known.window ? "" : String(window),
    by_session: by === known.by ? "" : by === "session" ? "1" : "0",
    breakdown: breakdown === known.breakdown ? "" : breakdown || NONE,
    strict: isStrict === known.isStrict ? "" : isStrict ? "1" : "0",
    without: without === formatSteps(known.exclusions) ? "" : without || NONE,
  };
}

export const differs = (options: FunnelOptions, saved: SavedFunnel): boolean => Object.values(ownOf(options, saved)).some(Boolean);

/** The body that saves them. */
export const savedBody = ({ steps, window, by, breakdown, isStrict, exclusions }: FunnelOptions) => ({
  steps: steps.map(stepMember), window, by, breakdown: breakdown || null, order: isStrict ? "strict" as const : "sequence" as const,
  exclusions: exclusions.map(stepMember),
});

/** The options of the query type. */
export function queryOptions(options: FunnelOptions) {
  const { breakdown, order, exclusions, ...members } = savedBody(options);
  return {
    ...members, ...(breakdown ? { breakdown } : {}), ...(options.isStrict ? { order } : {}), ...(exclusions.length ? { exclusions } : {}),
  };
}
