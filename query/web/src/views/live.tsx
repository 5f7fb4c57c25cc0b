// Live view: who is there now and what just happened, requested every few seconds.
import { useState } from "preact/hooks";
import type { Ask } from "../api/ask";
import { isShared, timezone } from "../api/session";
import { type Loaded, useAnswer } from "../api/use";
import { type Bar, BarList } from "../components/bar_list";
import { Card } from "../components/card";
import { DataTable } from "../components/data_table";
import { Flag } from "../components/logo";
import { Country, Device, SourceLogo } from "../components/seen_with";
import { Async } from "../components/states";
import { type Entry, Timeline } from "../components/timeline";
import { VisitorLink } from "../components/visitor_name";
import { follow } from "../state/address";
import { shownValue } from "../state/filter_values";
import { countryName, formatAgo, formatInstant, formatNumber, formatTime } from "../state/format";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { QueryType, Row } from "../types";
import { entryOf, sessionAddress } from "./sessions";

const SECONDS = 5;
const MINUTES = 30;
const ROWS = 8;
const FEED = 40;
const t = texts.live;
const m = texts.metrics;

const now = <Name extends QueryType>(name: Name, limit?: number): Ask<Name> => ({
  name, fixed: true, options: limit ? { limit } : {},
});

const LISTS = { pages: now("realtime_pages", ROWS), sources: now("realtime_referrers", ROWS), countries: now("realtime_countries", ROWS) };

export default function Live() {
  const active = useAnswer(now("active_stats"), SECONDS);
  const velocity = useAnswer(now("realtime_velocity"), SECONDS);
  const count = active.value?.rows[0]?.active_users ?? 0;
  const isEmpty = active.value !== null && count === 0;
  const lists = [useAnswer(LISTS.pages), useAnswer(LISTS.sources), useAnswer(LISTS.countries)]; // asked once with those that draw them
  return (
    <>
      <section class="card live-now">
        <div aria-live="polite">
          <Async loaded={active} lines={2}>
            {() => (
              <p class="live-count">
                <span class="big"><span class={`online-dot ${count ? "some" : ""}`} aria-hidden="true" />{formatNumber(count)}</span>
                <span>{t.now(count)}<small class="quiet">{t.nowRange}</small></span>
              </p>
            )}
          </Async>
          {isEmpty && <LastVisit />}
        </div>
        <Async loaded={velocity} lines={4} empty={t.quiet} isEmpty={({ rows }) => !rows.slice(-MINUTES).some(({ pageviews }) => pageviews)}>{({ rows }) => <Minutes rows={rows.slice(-MINUTES)} />}</Async>
      </section>
      {!isEmpty && (
        <div class="cards live-lists">
          <Names title={t.pages} ask={LISTS.pages} bar={({ path, visitors }: Row<"realtime_pages">) => ({ key: path, name: path, value: visitors })} />
          <Names title={t.sources} ask={LISTS.sources} bar={({ referrer, visitors }: Row<"realtime_referrers">) => (
            { key: referrer, name: shownValue("referrer_name", referrer), value: visitors, image: <SourceLogo name={referrer} /> })} />
          <Names title={t.countries} ask={LISTS.countries} bar={({ name, visitors }: Row<"realtime_countries">) => (
            { key: name, name: countryName(name), value: visitors, image: <Flag country={name} /> })} />
        </div>
      )}
      {!isShared() && ( // seen once the lists above it have their height
        <div class="live-people" hidden={!active.value || (!isEmpty && lists.some(({ value, error }) => !value && !error))}>
          <Feed hidesNothing={isEmpty} />
          {!isEmpty && <Visits />}
        </div>
      )}
    </>
  );
}

/** In place of lists that are empty. */
function LastVisit() {
  const last = useAnswer(isShared() ? null : { name: "session_list", fixed: "last_30d", options: { limit: 1 } });
  const visit = last.value?.rows[0];
  if (!visit) return null;
  return (
    <p class="last-visit quiet" title={formatInstant(visit.last_visit, timezone.value, true)}>
      {t.lastVisit(formatAgo(visit.last_visit ?? ""), shownValue("referrer_name", visit.source), entryOf(visit.events) ?? "–")}{" · "}
      <a href={sessionAddress(visit.session_id)} onClick={follow}>{t.openLast}</a>
    </p>
  );
}

function Visits() {
  const ask = now("realtime_sessions", 20);
  const loaded = useAnswer(ask, SECONDS);
  return (
    <Card title={t.visits} ask={ask}>
      <Async loaded={loaded} lines={8} empty={t.quiet} isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => (
          <DataTable label={t.visits} rows={rows} rowKey={(row) => row.session_id} columns={[
            { key: "page", label: texts.filters.fields.path!, className: "long", render: (row) => <a href={sessionAddress(row.session_id)} onClick={follow}>{row.current_page ?? "–"}</a> },
            { key: "country", label: texts.filters.fields.country!, render: (row) => <Country code={row.country} /> },
            { key: "device", extra: true, label: moreTexts.sessions.device, className: "nowrap", render: (row) => <Device device={row.device_type} browser={null} system={null} short /> },
            { key: "views", label: m.pageviews, number: true, render: (row) => formatNumber(row.pages_viewed) },
          ]} />
        )}
      </Async>
    </Card>
  );
}

function Feed({ hidesNothing }: { hidesNothing: boolean }) {
  const ask = now("realtime_feed", FEED);
  const loaded = useAnswer(ask, SECONDS);
  if (hidesNothing && !loaded.value?.rows.length) return null;
  return (
    <Card title={t.feed} ask={ask}>
      <Async loaded={loaded} lines={10} empty={t.quiet} isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => <div class="feed" tabIndex={0} role="region" aria-label={t.feed}><Timeline label={t.feed} days={false} entries={rows.map(entryOfFeed)} /></div>}
      </Async>
    </Card>
  );
}

const entryOfFeed = (row: Row<"realtime_feed">): Entry => ({
  time: row.timestamp, kind: row.kind as Entry["kind"], name: row.href ?? row.event_name, path: row.path, properties: null, session: row.session_id,
  by: (
    <>
      <span title={row.country ? countryName(row.country) : undefined}>{row.country && <Flag country={row.country} />}</span>
      <span title={shownValue("referrer_name", row.source)}><SourceLogo name={row.source} /></span>
      {row.visitor_id && <VisitorLink id={row.visitor_id} />}
    </>
  ),
});

function Names<One extends { visitors: number }>({ title, ask, bar }: { title: string; ask: Ask<QueryType>; bar: (row: One) => Bar }) {
  const loaded = useAnswer(ask, SECONDS) as unknown as Loaded<{ rows: One[] }>;
  return (
    <Card title={title} ask={ask} fields={[{ label: m.visitors, field: "visitors" }]} className="live-list">
      <Async loaded={loaded} lines={4} empty="–" isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => <BarList nameLabel={title} valueLabel={m.visitors} bars={rows.map(bar)} />}
      </Async>
    </Card>
  );
}

function Minutes({ rows }: { rows: Row<"realtime_velocity">[] }) {
  const [pointed, setPointed] = useState<string | null>(null);
  const most = Math.max(1, ...rows.map((row) => row.pageviews));
  const shown = rows.findIndex(({ minute }) => minute === pointed);
  const textOf = ({ minute, pageviews }: Row<"realtime_velocity">) => `${formatTime(minute, timezone.value)}: ${t.inMinute(pageviews, formatNumber(pageviews))}`;
  return (
    <figure class="minutes">
      <p class="quiet">{t.inMinute(most, formatNumber(most))}</p>
      <ol aria-label={t.minutes} onPointerLeave={({ pointerType }) => pointerType === "mouse" && setPointed(null)}>
        {rows.map((row, i) => (
          <li key={row.minute} class={i === rows.length - 1 ? "running" : undefined} onPointerEnter={() => setPointed(row.minute)}>
            <span style={{ height: `${(100 * row.pageviews) / most}%` }} />
            <span class="hidden">{textOf(row)}</span>
          </li>
        ))}
      </ol>
      {shown >= 0 && (
        <div class="hover" aria-hidden="true" style={{ left: `${(100 * (shown + 0.5)) / rows.length}%`, translate: shown < rows.length / 2 ? "8px" : "calc(-100% - 8px)" }}>
          {textOf(rows[shown]!)}
        </div>
      )}
      <figcaption><span>{t.ago}</span><span>{t.minutes}</span><span>{t.justNow}</span></figcaption>
    </figure>
  );
}
