// What filters may be about, in the groups of the panel.
import type { IconName } from "../types";

export interface DimensionGroup {
  id: string;
  icon: IconName;
  fields: string[];
}

export const DIMENSION_GROUPS: DimensionGroup[] = [
  { id: "pages", icon: "file-text", fields: ["path", "path_group", "folder", "title", "host", "visit.entry_page", "visit.exit_page", "visit.landing_host"] },
  {
    id: "sources", icon: "compass", fields: [
      "visit.channel", "visit.referrer_name", "visit.referrer", "visit.referrer_type", "visit.utm_campaign", "visit.utm_source",
      "visit.utm_medium", "visit.utm_term", "visit.utm_content", "visit.click_id",
    ],
  },
  { id: "places", icon: "map-pin", fields: ["country", "region", "city", "language", "timezone"] },
  {
    id: "devices", icon: "smartphone", fields: [
      "device_type", "browser_name", "browser_version", "os_name", "os_version", "screen_resolution", "viewport_size", "connection_type",
    ],
  },
  { id: "done", icon: "mouse-pointer-click", fields: ["did.event", "did.path", "did.goal"] },
  { id: "events", icon: "zap", fields: ["name", "href", "outbound_domain", "link_text", "scroll_depth", "time_on_page", "load_time"] },
  {
    id: "visitors", icon: "users", fields: [
      "visitor.is_new", "visitor.first_seen", "visitor.last_seen", "visitor.profile_id", "anonymous_id", "session_id",
    ],
  },
  { id: "segments", icon: "bookmark", fields: ["segment"] },
  { id: "technical", icon: "settings", fields: ["source", "namespace", "trusted", "import_id"] },
];

/** Fields that a shared dashboard filters by: none that tells single visitors or names what is saved. */
export const SHARED_FIELDS: readonly string[] = [
  ...["pages", "sources", "places", "devices"].flatMap((id) => DIMENSION_GROUPS.find((group) => group.id === id)!.fields),
  "name", "href", "outbound_domain", "link_text",
].filter((field) => !["visit.landing_host", "visit.click_id", "connection_type"].includes(field));

/** `special`: not a condition of the API on one field. */
export type FieldKind = "text" | "number" | "flag" | "instant" | "property" | "special";

const KINDS: Record<string, FieldKind> = {
  scroll_depth: "number", time_on_page: "number", load_time: "number", "visitor.is_new": "flag", trusted: "flag", is_bot: "flag",
  "visitor.first_seen": "instant", "visitor.last_seen": "instant", segment: "special",
};

export function kindOfField(field: string): FieldKind {
  if (field.startsWith("did.")) return "special";
  return field.startsWith("properties.") || field.startsWith("traits.") ? "property" : KINDS[field] ?? "text";
}

const OPERATORS: Record<FieldKind, string[]> = {
  text: ["eq", "ne", "contains", "not_contains", "starts_with", "ends_with", "is_not_null", "is_null"],
  property: ["eq", "ne", "contains", "not_contains", "starts_with", "ends_with", "gt", "gte", "lt", "lte", "is_not_null", "is_null"],
  number: ["gte", "lte", "gt", "lt", "eq", "ne", "is_not_null", "is_null"],
  flag: ["eq"],
  instant: ["gte", "lt"],
  special: ["eq", "ne"],
};

/** The operators of a field, the usual one first. */
export const operatorsOf = (field: string): string[] => OPERATORS[kindOfField(field)];
