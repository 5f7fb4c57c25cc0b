// The API keys of the organization.
import { fetchAll } from "../../api/pages";
import { may } from "../../api/session";
import { useLoaded } from "../../api/use";
import type { Schemas } from "../../types";

export type ApiKey = Schemas["ApiKeyResource"];

/** Nothing is asked without the scope for it. */
export const useApiKeys = () => useLoaded(may("admin") ? "keys" : null, (signal) => fetchAll<ApiKey>("/v1/keys", {}, signal));

export const keyName = ({ name, prefix }: ApiKey): string => name || prefix;

/** Tells keys of one name apart: the one that is rotated, and the new one. */
export const keyTitle = ({ name, prefix }: ApiKey): string => (name ? `${name} (${prefix}…)` : prefix);
