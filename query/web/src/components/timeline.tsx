// What visitors did, each entry as a sentence with an icon: of one visitor by day and visit, or of all as it comes.
import type { ComponentChildren } from "preact";
import { timezone } from "../api/session";
import { type Kind } from "../state/event_kinds";
import { formatBucket, formatInstant, formatTime } from "../state/format";
import { dayOf } from "../state/period";
import { texts } from "../texts";
import type { IconName } from "../types";
import { Icon } from "./icon";

export interface Entry {
  time: string | null;
  kind: Kind;
  /** Of an event, an error, or the address of an outbound link. */
  name: string;
  path: string | null;
  properties: string | null;
  session: string | null;
  /** What stands at its end, such as who did it. */
  by?: ComponentChildren;
}

const t = texts.timeline;
const ICONS: Record<Kind, IconName> = {
  page_view: "file-text", page_exit: "log-out", event: "zap", outbound: "external-link", error: "triangle-alert",
};

/** The domain of an address, which may be none. */
const domainOf = (href: string): string => (URL.canParse(href) && new URL(href).hostname) || href || t.elsewhere;

/** What happened, in words: the same wherever it is shown. */
export function sentenceOf({ kind, name, path }: Pick<Entry, "kind" | "name" | "path">): string {
  if (kind === "page_view" || kind === "page_exit") return t.sentences[kind](path ?? t.page);
  return kind === "outbound" ? t.sentences.outbound(domainOf(name)) : t.sentences[kind](name);
}

/** Entries in the order given, under their day; `heading` begins each visit. */
export function Timeline({ label, entries, days = true, heading }: {
  label: string;
  entries: Entry[];
  days?: boolean;
  heading?: (session: string | null, first: Entry) => ComponentChildren;
}) {
  const dayAt = (i: number): string => (entries[i]?.time ? dayOf(Date.parse(entries[i].time), timezone.value) : "");
  return (
    <ol class="timeline" aria-label={label}>
      {entries.map((entry, i) => {
        const beginsDay = days && (i === 0 || dayAt(i) !== dayAt(i - 1));
        const begins = heading && (i === 0 || entries[i - 1]!.session !== entry.session);
        return (
          <li key={i} class={begins ? "begins" : undefined}>
            {beginsDay && dayAt(i) && <h3 class="timeline-day">{formatBucket(dayAt(i), "daily")}</h3>}
            {begins && <h4>{heading(entry.session, entry)}</h4>}
            <TimelineEntry entry={entry} />
          </li>
        );
      })}
    </ol>
  );
}

function TimelineEntry({ entry }: { entry: Entry }) {
  const { time, kind, name, path, properties, by } = entry;
  const isPage = kind === "page_view" || kind === "page_exit";
  return (
    <div class={`entry ${kind}`}>
      <time dateTime={time ?? undefined} title={formatInstant(time, timezone.value, true)}>{formatTime(time, timezone.value)}</time>
      <Icon name={ICONS[kind]} size={15} />
      <span class="entry-text">
        <span class="entry-name" title={kind === "outbound" ? name : undefined}>{sentenceOf(entry)}</span>
        {!isPage && path && <span class="quiet">{t.on(path)}</span>}
        <Properties text={properties} />
      </span>
      {by && <span class="entry-by quiet">{by}</span>}
    </div>
  );
}

export function Properties({ text }: { text: string | null }) {
  const pairs = propertiesOf(text);
  if (!pairs.length) return null;
  return <span class="properties">{pairs.map(([key, value]) => <code key={key}>{`${key}: ${value}`}</code>)}</span>;
}

/** Keys and values of properties or traits, which the API gives as JSON text. */
export function propertiesOf(text: string | null): [string, string][] {
  const value: unknown = text === null ? null : JSON.parse(text);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([key, each]) => [key, typeof each === "string" ? each : JSON.stringify(each)]);
}
