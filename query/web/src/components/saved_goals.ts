// The saved goals of the website; none of a shared dashboard, nor of several websites.
import type { Ask } from "../api/ask";
import { fetchAll } from "../api/pages";
import { hasRecords, subjectQuery } from "../api/session";
import { type Loaded, useLoaded } from "../api/use";
import type { Schemas } from "../types";

/** Goals that one request answers. */
export const MOST_ASKED = 20;

export type Goal = Schemas["GoalResource"];

/** `needed`: whether they are asked for. */
export function useGoals(needed = true): Loaded<Goal[]> {
  const query = subjectQuery.value;
  return useLoaded(hasRecords() && needed ? `goals ${JSON.stringify(query)}` : null, (signal) =>
    fetchAll<Goal>("/v1/goals", query, signal));
}

/** How often each of the goals is reached, and by whom. */
export const askGoals = (goals: Goal[]): Ask<"goals"> =>
  ({ name: "goals", compared: true, options: { goals: goals.map(({ id }) => ({ goal: id })) } });
