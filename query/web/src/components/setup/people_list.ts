// The people of the organization, as a list.
import { fetchAll } from "../../api/pages";
import { mayEverywhere } from "../../api/session";
import { useLoaded } from "../../api/use";
import type { Schemas } from "../../types";

type Person = Schemas["Person"];

/** Nothing is asked without the scope for it, or when they are not `wanted`. */
export const usePeople = (wanted = true) =>
  useLoaded(wanted && mayEverywhere("admin") ? "people" : null, (signal) => fetchAll<Person>("/v1/people", {}, signal));

/** Whether nobody owns the organization: the first owner is made from an API key. */
export const isOwnerless = (people: Person[]): boolean => !people.some(({ role }) => role === "owner");
