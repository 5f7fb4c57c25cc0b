// The API keys of the organization, and how lists show keys.
import { fetchAll } from "../../api/pages";
import { may } from "../../api/session";
import { useLoaded } from "../../api/use";
import { formatInstant } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import type { Column } from "../data_table";
import { endDay } from "../end_day";

export type ApiKey = Schemas["ApiKeyResource"];
const t = moreTexts.setup;

/** Nothing is asked without the scope for it. */
export const useApiKeys = () => useLoaded(may("admin") ? "keys" : null, (signal) => fetchAll<ApiKey>("/v1/keys", {}, signal));

export const keyName = ({ name, prefix }: ApiKey): string => name || prefix;

/** Tells keys of one name apart: the one that is rotated, and the new one. */
export const keyTitle = ({ name, prefix }: ApiKey): string => (name ? `${name} (${prefix}…)` : prefix);

/** Columns that every list of keys has, with instants in a time zone. */
export const keyColumns = (zone: string) => ({
  name: { key: "name", label: t.name, className: "breakable", render: (key) => key.name || "–" },
  scopes: { key: "scopes", extra: true, label: t.scopes, render: (key) => key.scopes.join(", ") },
  state: { key: "state", label: t.state, render: (key) => t.states[key.state] },
  expires: { key: "expires", extra: true, label: t.expires, render: (key) => (key.expiresAt ? endDay(key.expiresAt, zone) : "–") },
  used: { key: "used", extra: true, label: t.lastUsed, hint: t.toTheHour, render: (key) => formatInstant(key.lastUsedAt, zone) },
}) satisfies Record<string, Column<ApiKey>>;
