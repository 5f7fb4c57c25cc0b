// Visitors one by one, and what one of them did.
import type { Ask } from "../api/ask";
import { timezone } from "../api/session";
import { useAnswer } from "../api/use";
import { Card } from "../components/card";
import { Copyable } from "../components/copy";
import { DataTable, Pages } from "../components/data_table";
import { Facts } from "../components/facts";
import { Search } from "../components/search";
import { Country, Device, Source } from "../components/seen_with";
import { Async } from "../components/states";
import { type Entry, propertiesOf, Timeline } from "../components/timeline";
import { visitorName } from "../components/visitor_name";
import { VISITOR_FILE, visitorsAsk, VisitorTable } from "../components/visitor_table";
import { address, addressWith, follow, goOwn } from "../state/address";
import { aliasOf } from "../state/alias";
import { equals } from "../state/filters";
import { formatDuration, formatInstant, formatNumber, formatTime } from "../state/format";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Row, Schemas } from "../types";
import { sessionAddress } from "./sessions";

const ENTRIES = 100;
const SESSIONS = 50;
const NAMES = ["anonymous_id", "visitor.profile_id", "traits.name", "traits.email"];
const t = moreTexts.visitors;
const m = texts.metrics;

export default function Visitors() {
  const { item, own } = address.value;
  if (item) return <VisitorDetail key={item} id={item} />;
  const search = own.q ?? "";
  const ask = visitorsAsk({ name: "profile_list" }, search ? [whoseNameHas(search)] : []);
  const loaded = useAnswer(ask);
  const total = loaded.value?.total;
  return (
    <Card title={t.title} heading={total === undefined ? undefined : t.count(total, formatNumber(total))} ask={ask} file={VISITOR_FILE} className="wide">
      <Search value={search} label={t.search} />
      <VisitorTable loaded={loaded} label={t.title} empty={search ? texts.states.emptySearch(search) : undefined} />
    </Card>
  );
}

/** Visitors whose ids or names contain a text. */
function whoseNameHas(text: string): Schemas["Filter"] {
  return { or: NAMES.map((field) => ({ ...equals(field, text), operator: "contains" })) } as Schemas["Filter"];
}

function VisitorDetail({ id }: { id: string }) {
  const filters = [equals("anonymous_id", id)];
  const detail: Ask<"profile_detail"> = { name: "profile_detail", filters };
  const loaded = useAnswer(detail);
  const row = loaded.value?.rows[0];
  const back = <a class="quiet-button" href={addressWith({ item: "" })} onClick={follow}>{t.back}</a>;
  return (
    <>
      <Card title={(row && visitorName(row.traits, row.profile_id)) ?? aliasOf(id)} ask={detail} className="wide" actions={back}>
        <Async loaded={loaded} lines={2} isEmpty={({ rows }) => !rows.length} empty={<>{t.unknown} <Copyable text={id} name={moreTexts.alias.id(id)} /></>}>
          {({ rows }) => <VisitorFacts row={rows[0]!} />}
        </Async>
      </Card>
      <VisitorSessions filters={filters} />
      <VisitorTimeline filters={filters} />
    </>
  );
}

function VisitorFacts({ row }: { row: Row<"profile_detail"> }) {
  return (
    <>
      <Facts strip facts={[
        [m.lastSeen, formatInstant(row.last_visit, timezone.value)],
        [t.firstSeen, formatInstant(row.first_visit, timezone.value)],
        [m.visits, formatNumber(row.total_sessions)],
        [m.pageviews, formatNumber(row.total_pageviews)],
        [t.time, formatDuration(row.total_duration)],
        [t.country, row.country && <Country code={row.country} region={row.region} />],
        [t.device, <Device device={row.device} browser={row.browser} system={row.os} />],
        [t.profile, row.profile_id],
        [t.visitor, <Copyable text={row.visitor_id} name={moreTexts.alias.id(row.visitor_id)} />],
      ]} />
      {row.traits && (
        <>
          <h3>{t.traits}</h3>
          <Facts strip facts={propertiesOf(row.traits)} />
        </>
      )}
    </>
  );
}

function VisitorSessions({ filters }: { filters: Ask<"profile_sessions">["filters"] }) {
  const ask: Ask<"profile_sessions"> = { name: "profile_sessions", options: { limit: SESSIONS }, filters };
  const loaded = useAnswer(ask);
  return (
    <Card title={t.sessions} ask={ask} className="wide">
      <Async loaded={loaded} lines={3} isEmpty={({ rows }) => !rows.length}>
        {({ rows }) => (
          <DataTable label={t.sessions} rows={rows} rowKey={(row) => row.session_id} className="scrolled" columns={[
            {
              key: "began", label: moreTexts.sessions.began, className: "when",
              render: (row) => <a href={sessionAddress(row.session_id)} onClick={follow}>{formatInstant(row.first_visit, timezone.value)}</a>,
            },
            { key: "views", label: m.pageviews, number: true, render: (row) => formatNumber(row.page_views) },
            { key: "duration", label: moreTexts.sessions.length, number: true, render: (row) => formatDuration(row.duration) },
            { key: "referrer", extra: true, label: texts.filters.fields["visit.referrer_name"]!, className: "nowrap", render: (row) => <Source name={row.referrer} /> },
            { key: "country", extra: true, label: t.country, className: "nowrap", render: (row) => <Country code={row.country} region={row.region} /> },
            { key: "device", extra: true, label: t.device, className: "nowrap", render: (row) => <Device device={row.device} browser={row.browser} system={row.os} short /> },
          ]} />
        )}
      </Async>
    </Card>
  );
}

function VisitorTimeline({ filters }: { filters: Ask<"visitor_timeline">["filters"] }) {
  const page = Math.max(1, Number(address.value.own.entries) || 1);
  const newest = [{ field: "time", direction: "desc" }];
  const ask: Ask<"visitor_timeline"> = { name: "visitor_timeline", options: { limit: ENTRIES, page, orderBy: newest }, filters };
  const loaded = useAnswer(ask);
  const heading = (session: string | null, first: Entry) => {
    const text = t.visitOf(formatTime(first.time, timezone.value));
    return session ? <a href={sessionAddress(session)} onClick={follow}>{text}</a> : t.withoutVisit;
  };
  return (
    <Card title={t.timeline} ask={ask} className="wide">
      <Async loaded={loaded} lines={8} isEmpty={({ rows }) => !rows.length}>
        {({ rows, total }) => (
          <>
            <Timeline label={t.timeline} entries={rows.map((row) => ({ ...row, kind: row.kind as Entry["kind"], session: row.session_id }))}
              heading={heading} />
            <Pages page={page} total={total} size={ENTRIES} go={(to) => goOwn({ entries: to > 1 ? String(to) : "" })} />
          </>
        )}
      </Async>
    </Card>
  );
}
