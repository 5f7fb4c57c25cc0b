// The breakdowns of the overview: which query type lists them, and which filter a row stands for.
import { texts } from "../texts";
import type { QueryType } from "../types";
import { shownValue } from "./filter_values";
import { condition, type Filter, sourceFilter } from "./filters";

export interface NamedRow {
  name: string;
  value: number;
  /** Further numbers of the row, by field. */
  fields: Record<string, unknown>;
}

export interface Breakdown {
  type: QueryType;
  label: string;
  /** Field of the row that names it. */
  name: string;
  /** Field that the bar stands for, and the order. */
  value: string;
  valueLabel: string;
  /** Numbers of the full list, by field, with their labels; a `share` is the one of all visitors, in the same order. */
  columns: [field: string, label: string, kind?: "percent" | "share" | "instant"][];
  /** The column that a search looks in. */
  searched: string;
  /** The filter that keeps what the row counts; of a shared dashboard, which takes none of what visitors did. */
  filter: (row: Record<string, unknown>, shared: boolean) => Filter;
  /** What the page shows for a name, where that is not the name. */
  display?: (name: string) => string;
  /** What the image before the name shows. */
  image?: "flag" | "device" | "browser" | "system" | "source";
  /** Whether rows have it only by a geo database that has more than countries. */
  ofGeoDatabase?: boolean;
}

const t = texts.breakdowns;
const VISITORS: Breakdown["columns"] = [
  ["visitors", texts.metrics.visitors], ["pageviews", texts.metrics.pageviews],
  ["percentage", texts.metrics.shareOfVisitors, "share"],
];

const top = (type: QueryType, label: string, field: string, more: Partial<Breakdown> = {}): Breakdown => ({
  type, label, name: "name", value: "visitors", valueLabel: texts.metrics.visitors, columns: VISITORS,
  searched: field, filter: (row) => condition(field, row.name as string), ...more,
});

const words = (field: string) => (name: string): string => shownValue(field, name);

const inCountry = (field: string) => (row: Record<string, unknown>): Filter => ({
  and: [condition(field, row.name as string), condition("country", (row.country as string) || null)],
}) as Filter;

/** `lines`: rows that the first breakdown usually has, where a card has room for more. */
export const GROUPS: { id: string; label: string; breakdowns: Breakdown[]; lines?: number }[] = [
  {
    id: "sources",
    label: t.sources,
    breakdowns: [
      top("channels", t.channels, "visit.channel", { display: words("visit.channel") }),
      top("traffic_sources", t.referrers, "visit.referrer_name", {
        filter: (row) => sourceFilter(row.name as string), display: words("visit.referrer_name"), image: "source",
      }),
      top("utm_campaigns", t.campaigns, "visit.utm_campaign"),
      top("utm_sources", t.utmSources, "visit.utm_source"),
      top("utm_mediums", t.utmMediums, "visit.utm_medium"),
      top("utm_terms", t.utmTerms, "visit.utm_term"),
      top("utm_content", t.utmContent, "visit.utm_content"),
    ],
  },
  {
    id: "pages",
    label: t.pages,
    breakdowns: [
      top("top_pages", t.topPages, "path"),
      top("top_path_groups", t.pathGroups, "path_group"),
      top("top_folders", t.folders, "folder"),
      top("entry_pages", t.entryPages, "visit.entry_page", {
        columns: [["visitors", texts.metrics.visitors], ["pageviews", texts.metrics.entries],
          ["percentage", texts.metrics.shareOfVisitors, "share"]],
      }),
      top("exit_pages", t.exitPages, "visit.exit_page", {
        columns: [["visitors", texts.metrics.visitors], ["pageviews", texts.metrics.exits],
          ["percentage", texts.metrics.shareOfVisitors, "share"]],
      }),
    ],
  },
  {
    id: "places",
    label: t.places,
    breakdowns: [
      top("country", t.countries, "country", { display: words("country"), image: "flag" }),
      top("region", t.regions, "region", { filter: inCountry("region"), ofGeoDatabase: true, image: "flag" }),
      top("city", t.cities, "city", { filter: inCountry("city"), ofGeoDatabase: true, image: "flag" }),
      top("language", t.languages, "language", { display: words("language") }),
      top("timezone", t.timezones, "timezone"),
    ],
  },
  {
    id: "devices",
    lines: 3,
    label: t.devices,
    breakdowns: [
      top("device_types", t.deviceTypes, "device_type", { display: words("device_type"), image: "device" }),
      top("browser_name", t.browsers, "browser_name", { image: "browser" }),
      top("os_name", t.systems, "os_name", { image: "system" }),
      top("screen_resolutions", t.screens, "screen_resolution", {
        columns: [["visitors", texts.metrics.visitors], ["pageviews", texts.metrics.pageviews]],
      }),
    ],
  },
  {
    id: "actions",
    lines: 3,
    label: t.actions,
    breakdowns: [
      top("custom_events", t.events, "name", {
        // Of all that its visitors did: an event alone has no page views, sources or pages.
        filter: (row, shared) => (shared ? condition("name", row.name as string) : ({ has_done: { event: row.name } }) as Filter),
        value: "unique_users",
        columns: [["unique_users", texts.metrics.visitors], ["total_events", texts.metrics.events],
          ["unique_sessions", texts.metrics.visits], ["last_occurrence", texts.metrics.lastSeen, "instant"]],
      }),
      top("outbound_links", t.outboundLinks, "href", {
        name: "href", value: "unique_users",
        filter: (row) => condition("href", row.href as string),
        columns: [["unique_users", texts.metrics.visitors], ["total_clicks", texts.metrics.clicks],
          ["percentage", texts.metrics.shareOfClicks, "percent"]],
      }),
      top("outbound_domains", t.outboundDomains, "outbound_domain", {
        name: "domain", value: "unique_users",
        filter: (row) => condition("outbound_domain", row.domain as string),
        columns: [["unique_users", texts.metrics.visitors], ["total_clicks", texts.metrics.clicks],
          ["unique_links", texts.metrics.links]],
      }),
    ],
  },
];

export const findBreakdown = (type: string): Breakdown | undefined =>
  GROUPS.flatMap((group) => group.breakdowns).find((each) => each.type === type);
