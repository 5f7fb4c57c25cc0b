// What one visitor did, in order of time: an icon, a name, a page and the properties of each entry.
import type { ComponentChildren } from "preact";
import { timezone } from "../api/session";
import type { Kind } from "../state/event_kinds";
import { formatInstant, formatTime } from "../state/format";
import { texts } from "../texts";

export interface Entry {
  time: string | null;
  kind: Kind;
  name: string;
  path: string | null;
  properties: string | null;
  session: string | null;
}

const t = texts.timeline;
/** Paths of icons of 16 by 16. */
const ICONS: Record<Kind, string> = {
  page_view: "M4 1.5h5.5L13 5v9.5H4zM9 2v3.5h3.5M6 8.5h5M6 11h5",
  page_exit: "M8.5 2H3v12h5.5M7 8h7M11.5 5.5 14 8l-2.5 2.5",
  event: "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z",
  outbound: "M6.5 3H3v10h10V9.5M9 2.5h4.5V7M13 3 7.5 8.5",
  error: "M8 2 14.5 13.5h-13zM8 6.5v3.5M8 11.8v.4",
};

/** Entries in the order given; `heading` begins each visit. */
export function Timeline({ label, entries, heading }: {
  label: string;
  entries: Entry[];
  heading?: (session: string | null, first: Entry) => ComponentChildren;
}) {
  return (
    <ol class="timeline" aria-label={label}>
      {entries.map((entry, i) => {
        const begins = heading && (i === 0 || entries[i - 1]!.session !== entry.session);
        return (
          <li key={i} class={begins ? "begins" : undefined}>
            {begins && <h3>{heading(entry.session, entry)}</h3>}
            <TimelineEntry entry={entry} />
          </li>
        );
      })}
    </ol>
  );
}

function TimelineEntry({ entry: { time, kind, name, path, properties } }: { entry: Entry }) {
  const isPage = kind === "page_view" || kind === "page_exit";
  return (
    <div class={`entry ${kind}`}>
      <time dateTime={time ?? undefined} title={formatInstant(time, timezone.value, true)}>{formatTime(time, timezone.value)}</time>
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d={ICONS[kind]} /></svg>
      <span class="entry-kind">{t.kinds[kind]}</span>
      <span class="entry-name">{isPage ? path ?? "–" : name}</span>
      {!isPage && path && <span class="quiet">{t.on(path)}</span>}
      <Properties text={properties} />
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
