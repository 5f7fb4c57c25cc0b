// All websites that the key sees: one card each, ordered and searched, and what they have together.
import type { ComponentChildren } from "preact";
import { type Ask, pageMembers } from "../api/ask";
import { comparedData, type ComparedData } from "../api/compared";
import { type MetricsAsk, metricsRequest, type MetricsRow, useMetricsAnswer, useMetrics } from "../api/metrics";
import { fetchJson } from "../api/request";
import { allWebsites, me, subjectQuery, timezone } from "../api/session";
import { useAnswer, useLoaded } from "../api/use";
import { CardMenu, standardRequest } from "../components/card";
import { Change, RowChange } from "../components/change";
import { Icon } from "../components/icon";
import { Search } from "../components/search";
import { Sparkline } from "../components/sparkline";
import { Async, Empty, Failed } from "../components/states";
import { shownGranularity } from "../components/time_series";
import { address, addressWith, follow, goOwn } from "../state/address";
import { formatAgo, formatInstant, formatNumber, formatShort } from "../state/format";
import { texts } from "../texts";
import type { Schemas, Website } from "../types";

const t = texts.websites;
const ONLINE_SECONDS = 15;
const ONLINE_MINUTES = 5;
const MINUTE_MS = 60_000;
const MOST_BUCKETS = 10_000;
const BY_WEBSITE: MetricsAsk = { metrics: ["visitors", "visits", "page_views"], dimensions: ["website_id"], compared: true };
const ORDERS = ["visitors", "name"] as const;

export default function Websites() {
  const { own } = address.value;
  const by = shownGranularity();
  const counts = useMetricsAnswer(BY_WEBSITE);
  const series = useMetrics({ metrics: ["visitors"], dimensions: ["website_id", `time:${by}`], limit: MOST_BUCKETS });
  const together = useAnswer({ name: "events_by_date", options: { granularity: by }, compared: true });
  const before = together.error ? "enough" : comparedData(together.value, by);
  const online = useOnline();
  const last = useLastEvents();
  const order = ORDERS.find((each) => each === own.sort) ?? ORDERS[0];
  const search = own.q ?? "";
  const rows = new Map(counts.value?.rows.map((row, i) => [String(row.website_id), { row, change: counts.value!.comparison?.rows[i] }]));
  const visitorsOf = ({ id }: Website) => Number(rows.get(id)?.row.visitors ?? 0);
  const shown = allWebsites().filter(({ name, domain }) => `${name} ${domain}`.toLowerCase().includes(search.toLowerCase()))
    .toSorted((a, b) => (order === "visitors" ? visitorsOf(b) - visitorsOf(a) : 0) || titleOf(a).localeCompare(titleOf(b)));
  const beyond = me.value!.websites.length - allWebsites().length;
  return (
    <>
      <Together before={before} />
      <div class="sites-head">
        <Search value={search} label={t.search} />
        <div class="segmented" role="group" aria-label={t.order}>
          {ORDERS.map((each) => (
            <button key={each} type="button" aria-pressed={each === order} onClick={() => goOwn({ sort: each === "visitors" ? "" : each })}>{t.orders[each]}</button>
          ))}
        </div>
        <span class="card-actions">
          <CardMenu title={t.title} requests={[{ label: texts.request.open, request: {
            ...metricsRequest(BY_WEBSITE), answer: { fields: [{ label: texts.metrics.visitors, field: "visitors" }], rows: "data[]" } } }]} />
        </span>
      </div>
      {beyond > 0 && <p class="quiet">{t.beyond(allWebsites().length, beyond)}</p>}
      {!shown.length && <Empty text={texts.states.emptySearch(search)} />}
      {counts.error ? <Failed error={counts.error} retry={counts.reload} /> : (
        <ul class="sites" aria-busy={counts.loading || series.loading}>
          {shown.map((website) => {
            const known = rows.get(website.id);
            return (
              <SiteCard key={website.id} website={website} isKnown={counts.value !== null} visitors={visitorsOf(website)} last={last?.get(website.id)}
                online={online?.get(website.id) ?? 0} values={valuesOf(website.id, series.value, together.value?.rows.map(({ date }) => date), `time:${by}`)}
                isRunning={Boolean(together.value?.partialBucket)} views={Number(known?.row.page_views ?? 0)}
                change={counts.value?.comparison && <RowChange field="visitors" compared={known?.change ?? NO_ROW} before={before} />} />
            );
          })}
        </ul>
      )}
    </>
  );
}

/** Of a website without a row there is no change. */
const NO_ROW = { previous: {}, change: {}, changePercent: {} };
const titleOf = ({ name, domain }: Website): string => name || domain;

/** Visitors in each bucket of the time range; null until they are known. */
function valuesOf(id: string, rows: MetricsRow[] | null, buckets: string[] | undefined, time: string): number[] | null {
  if (!rows || !buckets) return null;
  const visitors = new Map(rows.filter((row) => row.website_id === id).map((row) => [row[time], Number(row.visitors)]));
  return buckets.map((bucket) => visitors.get(bucket) ?? 0);
}

/** Visitors of the last minutes by website, asked again and again. */
function useOnline(): Map<string, number> | null {
  const query = subjectQuery.value;
  const { value } = useLoaded(`online ${JSON.stringify(query)}`, async (signal) => {
    const [startDate, endDate] = [new Date(Date.now() - ONLINE_MINUTES * MINUTE_MS), new Date(Date.now() + MINUTE_MS)].map((each) => each.toISOString());
    const body = { metrics: ["visitors"], dimensions: ["website_id"], startDate, endDate };
    const { data } = await fetchJson<{ data: MetricsRow[] }>("/v1/query/metrics", { query, body, signal });
    return new Map(data.map((row) => [String(row.website_id), Number(row.visitors)]));
  }, ONLINE_SECONDS);
  return value;
}

/** The last event of each website in the time range of the page. */
function useLastEvents(): Map<string, string> | null {
  const query = subjectQuery.value;
  const { filters } = address.value;
  const body = {
    query: { table: "events", selects: [{ field: "ts", aggregate: "max", alias: "last" }], groupBy: ["website_id"] },
    ...pageMembers(),
  };
  const { value } = useLoaded(filters.length ? null : JSON.stringify([query, body]), async (signal) => {
    const { data } = await fetchJson<Schemas["CustomResponse"]>("/v1/query/custom", { query, body, signal });
    return new Map(data.map((row) => [String(row.website_id), String(row.last)]));
  });
  return value;
}

/** What all websites have as one: a visitor whom several of them know by the same id counts once. */
function Together({ before }: { before: ComparedData | null }) {
  const ask: Ask<"summary_metrics"> = { name: "summary_metrics", compared: true };
  const loaded = useAnswer(ask);
  const fields = [
    ["unique_visitors", texts.metrics.unique_visitors], ["sessions", texts.metrics.sessions], ["pageviews", texts.metrics.pageviews],
  ] as const;
  const now = useAnswer({ name: "active_stats", fixed: true }, ONLINE_SECONDS).value?.rows[0]?.active_users;
  return (
    <section class="card together" aria-label={t.together}>
      <header class="card-head">
        <h2>{t.together}</h2>
        <span class="card-actions">
          <a class="button" href={addressWith({ view: "overview" })} onClick={follow}>{t.openTogether}<Icon name="arrow-right" /></a>
          <CardMenu title={t.together} definition={t.onceHint} requests={[{ label: texts.request.open,
            request: standardRequest(ask, fields.map(([field, label]) => ({ label, field })), undefined, 0) }]} />
        </span>
      </header>
      <Async loaded={loaded} lines={2}>
        {({ rows: [row], comparison }) => (
          <dl class="together-facts">
            {fields.map(([field, label]) => (
              <div key={field}>
                <dt>{label}</dt>
                <dd title={formatNumber(row?.[field] ?? 0)}>
                  <span class="total-value">{formatShort(row?.[field] ?? 0)}</span>
                  {comparison && <Change percent={comparison.rows[0]?.changePercent[field]} before={before} />}
                </dd>
              </div>
            ))}
            <div>
              <dt>{t.onlineNow}</dt>
              <dd title={t.onlineHint}><span class="total-value">{now === undefined ? " " : formatNumber(now)}</span></dd>
            </div>
          </dl>
        )}
      </Async>
      <p class="quiet">{t.once}</p>
    </section>
  );
}

function SiteCard({ website, isKnown, visitors, views, change, values, isRunning, online, last }: {
  website: Website;
  /** Whether its numbers are. */
  isKnown: boolean;
  visitors: number;
  views: number;
  change: ComponentChildren;
  values: number[] | null;
  isRunning: boolean;
  online: number;
  last: string | undefined;
}) {
  const title = titleOf(website);
  const label = texts.goals.courseOf(title, formatNumber(Math.max(0, ...(values ?? []))));
  return (
    <li>
      <a class="card site" href={addressWith({ base: website.id, view: "overview", own: {}, item: "", timezone: null })} onClick={follow}>
        <span class="site-head">
          <span class="site-letter" data-letter={[...title][0]?.toUpperCase()} />
          <span class="site-name"><strong>{title}</strong><small>{website.domain}</small></span>
          {online > 0 && <span class="site-online" title={t.onlineHint}><span aria-hidden="true" />{t.online(formatNumber(online))}</span>}
        </span>
        <span class="site-spark">{values ? <Sparkline values={values} label={label} isRunning={isRunning} width={260} height={48} /> : null}</span>
        <span class="site-numbers">
          <span><strong class="site-figure" title={formatNumber(visitors)}>{isKnown ? formatShort(visitors) : " "}</strong> {texts.metrics.visitors}</span>
          {isKnown && (visitors > 0 || views > 0) && change}
        </span>
        <small class="site-last">
          {isKnown && !visitors && !views ? t.nothing : last ? <span title={formatInstant(last, timezone.value, true)}>{t.last(formatAgo(last))}</span> : " "}
        </small>
      </a>
    </li>
  );
}
