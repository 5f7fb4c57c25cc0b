// Live view: the last minutes, requested every few seconds.
import { useMemo } from "preact/hooks";
import type { Ask } from "../api/ask";
import { isShared, timezone } from "../api/session";
import { type Loaded, useAnswer } from "../api/use";
import { BarList } from "../components/bar_list";
import { Card } from "../components/card";
import { DataTable } from "../components/data_table";
import { Async } from "../components/states";
import { eventName } from "../state/event_kinds";
import { countryName, formatNumber, formatTime } from "../state/format";
import { texts } from "../texts";
import type { QueryType, Row } from "../types";

const SECONDS = 5;
const MINUTES = 30;
const t = texts.live;
const m = texts.metrics;

const now = <Name extends QueryType>(name: Name, limit?: number): Ask<Name> => ({
  name, fixed: true, options: limit ? { limit } : {},
});

export default function Live() {
  const active = useAnswer(now("active_stats"), SECONDS);
  const velocity = useAnswer(now("realtime_velocity"), SECONDS);
  return (
    <>
      <section class="card live-now" aria-live="polite">
        <Async loaded={active} lines={1}>
          {({ rows: [row] }) => (
            <p><strong class="big">{formatNumber(row?.active_users ?? 0)}</strong> {t.now(row?.active_users ?? 0)}</p>
          )}
        </Async>
        <Async loaded={velocity} lines={3}>{({ rows }) => <Minutes rows={rows.slice(-MINUTES)} />}</Async>
      </section>
      <div class="cards">
        <Names title={t.pages} ask={now("realtime_pages", 10)} name={(row: Row<"realtime_pages">) => row.path} />
        <Names title={t.sources} ask={now("realtime_referrers", 10)} name={(row: Row<"realtime_referrers">) => row.referrer} />
        <Names title={t.countries} ask={now("realtime_countries", 10)} name={(row: Row<"realtime_countries">) => countryName(row.name)} />
        {!isShared() && <Visits />}
      </div>
      {!isShared() && <Feed />}
    </>
  );
}

function Visits() {
  const ask = now("realtime_sessions", 20);
  const loaded = useAnswer(ask, SECONDS);
  return (
    <Card title={t.visits} ask={ask} className="live-list">
      <Async loaded={loaded} lines={8} empty={t.quiet} isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => (
          <DataTable label={t.visits} rows={rows} rowKey={(row) => row.session_id} columns={[
            { key: "page", label: texts.filters.fields.path!, render: (row) => row.current_page },
            { key: "country", extra: "wide", label: texts.filters.fields.country!, render: (row) => countryName(row.country) },
            { key: "views", label: m.pageviews, number: true, render: (row) => formatNumber(row.pages_viewed) },
            { key: "seen", extra: "wide", label: m.lastSeen, number: true, render: (row) => formatTime(row.last_seen, timezone.value) },
          ]} />
        )}
      </Async>
    </Card>
  );
}

function Feed() {
  const ask = now("realtime_feed", 30);
  const loaded = useAnswer(ask, SECONDS);
  return (
    <Card title={t.feed} ask={ask} className="wide">
      <Async loaded={loaded} empty={t.quiet} isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => (
          <DataTable label={t.feed} rows={rows} columns={[
            { key: "time", label: texts.chart.bucket, render: (row) => formatTime(row.timestamp, timezone.value) },
            { key: "name", label: texts.filters.fields.name!, className: "breakable", render: (row) => eventName(row.event_name) },
            { key: "path", label: texts.filters.fields.path!, className: "breakable", render: (row) => row.path },
            { key: "country", extra: true, label: texts.filters.fields.country!, render: (row) => countryName(row.country) },
            { key: "browser", extra: true, label: texts.filters.fields.browser_name!, render: (row) => row.browser_name },
          ]} />
        )}
      </Async>
    </Card>
  );
}

function Names<One extends { visitors: number }>({ title, ask, name }: {
  title: string;
  ask: Ask<QueryType>;
  name: (row: One) => string | null;
}) {
  const loaded = useAnswer(ask, SECONDS) as unknown as Loaded<{ rows: One[] }>;
  return (
    <Card title={title} ask={ask} fields={[{ label: m.visitors, field: "visitors" }]} className="live-list">
      <Async loaded={loaded} lines={8} empty={t.quiet} isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => (
          <BarList nameLabel={title} valueLabel={m.visitors} bars={rows.map((row) => ({
            key: name(row) ?? "", name: name(row) ?? "–", value: row.visitors,
          }))} />
        )}
      </Async>
    </Card>
  );
}

function Minutes({ rows }: { rows: Row<"realtime_velocity">[] }) {
  const most = useMemo(() => Math.max(1, ...rows.map((row) => row.pageviews)), [rows]);
  return (
    <figure class="minutes">
      <ol aria-label={t.minutes}>
        {rows.map((row) => (
          <li key={row.minute} title={`${formatTime(row.minute, timezone.value)}: ${formatNumber(row.pageviews)}`}>
            <span style={{ height: `${(100 * row.pageviews) / most}%` }} />
            <span class="hidden">{`${formatTime(row.minute, timezone.value)}: ${formatNumber(row.pageviews)}`}</span>
          </li>
        ))}
      </ol>
      <figcaption>{t.minutes}</figcaption>
    </figure>
  );
}
