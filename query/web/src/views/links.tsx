// Short links: list, create, change, QR code, clicks.
import { useMemo, useState } from "preact/hooks";
import { type Ask, pageMembers } from "../api/ask";
import type { CsvFile } from "../api/download";
import { fetchAll } from "../api/pages";
import { fetchJson } from "../api/request";
import { mayEverywhere, me, subjectQuery, timezone, website } from "../api/session";
import { useAnswer, useLoaded } from "../api/use";
import { BarList } from "../components/bar_list";
import { Card } from "../components/card";
import { CopyButton } from "../components/copy";
import { DataTable, Pages } from "../components/data_table";
import { Icon } from "../components/icon";
import { LinkDialog } from "../components/link_dialog";
import { NoPlaces } from "../components/no_rows";
import { QrCode } from "../components/qr_code";
import { Snippet } from "../components/request_dialog";
import { comparedSeries, countFormat, type Series, SeriesChart } from "../components/series_chart";
import { Async } from "../components/states";
import { address, addressWith, follow, go } from "../state/address";
import type { RecordColumn } from "../state/csv";
import { shownValue } from "../state/filter_values";
import { formatDay, formatInstant, formatNumber } from "../state/format";
import { dayEndedAt, daysOf, defaultGranularity, endOfDay, presetOf, today } from "../state/period";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { QueryType, Schemas } from "../types";

type Link = Schemas["LinkResource"];
const t = moreTexts.links;
const ROWS = 25;
const CLICKS = [{ label: t.clicks, field: "clicks" }];
/** Of one organization. */
const MOST_LINKS = 10_000;

export const shortUrl = ({ slug }: Link): string => `${me.value?.collectUrl ?? ""}/l/${slug}`;

const withoutScheme = (url: string): string => url.replace(/^https?:\/\//, "");

const ShortLink = ({ link }: { link: Link }) => (
  <span class="copyable short-link"><span>{withoutScheme(shortUrl(link))}</span><CopyButton text={shortUrl(link)} name={link.name} /></span>
);

export default function Links() {
  const { item } = address.value;
  return item ? <OneLink id={item} /> : <AllLinks />;
}

function AllLinks() {
  const page = Number(address.value.own.page) || 1;
  const query = { limit: String(ROWS), page: String(page) };
  const list = useLoaded(JSON.stringify(query), (signal) => fetchJson<Schemas["LinkListResponse"]>("/v1/links", { query, signal }));
  const clicks = useClicks(list.value?.data ?? []);
  const [creating, setCreating] = useState(false);
  return (
    <Card title={t.title} className="wide" load={list.value?.data.length ? linksFile : undefined} actions={mayEverywhere("write:links") && (
      <button type="button" class="button" onClick={() => setCreating(true)}><Icon name="plus" />{t.create}</button>)}>
      <Async loaded={list} empty={t.none} isEmpty={({ data }) => !data.length}>
        {({ data, meta }) => (
          <>
            <DataTable label={t.title} rows={data} rowKey={(link) => link.id} columns={[
              { key: "name", label: t.name, render: (link) => (
                <>
                  <a href={addressWith({ item: link.id, own: {} })} onClick={follow}>{link.name}</a>
                  <div class="phone-only quiet"><ShortLink link={link} /></div>
                </>
              ) },
              { key: "short", extra: true, label: t.short, render: (link) => <ShortLink link={link} /> },
              { key: "target", extra: true, label: t.target, className: "one-line", render: (link) => <span title={link.targetUrl}>{withoutScheme(link.targetUrl)}</span> },
              ...(clicks ? [{ key: "clicks", label: t.clicks, number: true, render: (link: Link) => formatNumber(clicks.get(link.id) ?? 0) }] : []),
              { key: "created", extra: "wide", label: t.created, number: true, render: (link) => formatInstant(link.createdAt, timezone.value) },
            ]} />
            {clicks && <p class="quiet">{t.inRange}</p>}
            <Pages page={page} total={meta.total} size={ROWS} go={(to) => go({ own: { page: String(to) } })} />
          </>
        )}
      </Async>
      {creating && (
        <LinkDialog link={null} close={() => setCreating(false)} done={(link) => link && go({ item: link.id, own: {} })} />
      )}
    </Card>
  );
}

/** The query of the clicks of each link in the time range of the page. */
const clicksBody = (limit: number, filters: object[] = []) => ({
  query: { table: "clicks", selects: [{ field: "*", aggregate: "count", alias: "clicks" }], groupBy: ["link_id"], filters },
  limit, ...pageMembers(),
});

async function fetchClicks(body: ReturnType<typeof clicksBody>, signal?: AbortSignal): Promise<Map<string, number>> {
  const { data } = await fetchJson<Schemas["CustomResponse"]>("/v1/query/custom", { query: subjectQuery.value, body, signal });
  return new Map(data.map((row) => [String(row.link_id), Number(row.clicks)]));
}

/** Clicks of each link in the time range of the page; null until they are known. */
function useClicks(links: Link[]): Map<string, number> | null {
  const body = clicksBody(ROWS, [{ field: "link_id", operator: "in", value: links.map(({ id }) => id) }]);
  return useLoaded(links.length && website.value ? JSON.stringify([subjectQuery.value, body]) : null, (signal) => fetchClicks(body, signal)).value;
}

/** All short links with their clicks in the time range of the page, as a file. */
async function linksFile(): Promise<CsvFile> {
  const body = clicksBody(MOST_LINKS); // of the time range that is shown now
  const { recordsFile } = await import("../api/download");
  const links = await fetchAll<Link>("/v1/links", {});
  const clicks = website.value ? await fetchClicks(body) : null;
  return recordsFile(links, [
    [t.name, ({ name }) => name],
    [t.short, shortUrl],
    [t.target, ({ targetUrl }) => targetUrl],
    ...(clicks ? [[t.clicks, ({ id }) => String(clicks.get(id) ?? 0)] as RecordColumn<Link>] : []),
    [texts.download.utc(t.created), ({ createdAt }) => createdAt],
    [texts.download.utc(t.ends), ({ expiresAt }) => expiresAt ?? ""],
  ]);
}

function OneLink({ id }: { id: string }) {
  const loaded = useLoaded(id, (signal) => fetchJson<Schemas["LinkResponse"]>(`/v1/links/${encodeURIComponent(id)}`, { signal }));
  const [editing, setEditing] = useState(false);
  const done = (link: Link | null) => {
    setEditing(false);
    if (link) loaded.reload();
    else go({ item: "" });
  };
  return (
    <>
      <p class="crumbs"><a href={addressWith({ item: "" })} onClick={follow}>{t.back}</a></p>
      <Async loaded={loaded}>
        {({ data: link }) => (
          <>
            <Card title={link.name} className="wide" actions={mayEverywhere("write:links") && (
              <button type="button" class="button" onClick={() => setEditing(true)}>{t.edit}</button>)}>
              <div class="link-facts">
                <div>
                  <Snippet label={t.short} text={shortUrl(link)} />
                  <p class="breakable">{t.target}: {link.targetUrl}</p>
                  {link.expiresAt && <p>{endOf(link.expiresAt)}</p>}
                </div>
                <QrCode text={shortUrl(link)} name={link.slug} />
              </div>
            </Card>
            <Clicks link={link} />
            {editing && <LinkDialog link={link} close={() => setEditing(false)} done={done} />}
          </>
        )}
      </Async>
    </>
  );
}

/** The last day if the end is the end of a day, else the instant. */
function endOf(expiresAt: string): string {
  const day = dayEndedAt(expiresAt, timezone.value);
  return day ? `${t.lastDay}: ${formatDay(day)}` : `${t.ends}: ${formatInstant(expiresAt, timezone.value)}`;
}

function Clicks({ link: { id: link, createdAt } }: { link: Link }) {
  const { period, granularity } = address.value;
  const later = Date.parse(endOfDay(daysOf(period, timezone.value).end, timezone.value)!) <= Date.parse(createdAt);
  const sinceThen = () => go({ period: presetOf({ start: createdAt.slice(0, 10), end: today(timezone.value) }, timezone.value), granularity: null });
  const by = granularity ?? defaultGranularity(period, timezone.value);
  const ask: Ask<"link_clicks_by_day"> = { name: "link_clicks_by_day", link, compared: true, options: { granularity: by } };
  const total = useAnswer({ name: "link_total_clicks", link });
  const loaded = useAnswer(ask);
  const series = useMemo<Series | null>(() => loaded.value && {
    labels: loaded.value.rows.map((row) => row.date),
    values: loaded.value.rows.map((row) => row.clicks),
    ...comparedSeries(loaded.value.comparison, "clicks", 0),
    partial: loaded.value.partialBucket, granularity: by, name: t.clicks, format: countFormat,
  }, [loaded.value, by]);
  return (
    <>
      <Card title={t.clicks} ask={ask} fields={[{ label: texts.chart.bucket, field: "date" }, ...CLICKS]} className="wide">
        {later && <p class="notice">{t.later} <button type="button" class="button" onClick={sinceThen}>{t.sinceThen}</button></p>}
        <Async loaded={total} lines={1}>{({ rows: [row] }) => <p class="funnel-total">{t.total(formatNumber(row?.total ?? 0))}</p>}</Async>
        <div class="series-frame"><Async loaded={loaded} lines={7}>{() => <SeriesChart series={series!} />}</Async></div>
      </Card>
      <div class="cards">
        <Top title={t.referrers} field="referrer_name" ask={{ name: "link_top_referrers", link, options: { limit: 10 } }} />
        <Top title={t.countries} field="country" ask={{ name: "link_top_countries", link, options: { limit: 10 } }} />
        <Top title={t.regions} field="region" ask={{ name: "link_top_regions", link, options: { limit: 10 } }} inCountry />
        <Top title={t.cities} field="city" ask={{ name: "link_top_cities", link, options: { limit: 10 } }} inCountry />
        <Top title={t.devices} field="device_type" ask={{ name: "link_top_devices", link, options: { limit: 10 } }} />
        <Top title={t.browsers} field="browser_name" ask={{ name: "link_top_browsers", link, options: { limit: 10 } }} />
      </div>
    </>
  );
}

/** The name of what is not recorded. */
const UNKNOWN = "Unknown";
const shown = (field: string, name: string): string => (name === UNKNOWN ? texts.imported.unknown : shownValue(field, name));

interface NamedClicks {
  name: string;
  /** Of a region or city. */
  country?: string | null;
  clicks: number;
}

function Top({ title, field, ask, inCountry = false }: {
  title: string;
  ask: Ask<QueryType>;
  /** The field that the names are values of. */
  field: string;
  /** Whether the names are places in a country. */
  inCountry?: boolean;
}) {
  const loaded = useAnswer(ask);
  const named = (loaded.value?.rows ?? []) as unknown as NamedClicks[];
  /** Countries are recorded, and no place in any of them. */
  const areMissing = inCountry && named.some(({ country }) => country && country !== UNKNOWN) && named.every(({ name }) => name === UNKNOWN);
  return (
    <Card title={title} ask={ask} fields={[{ label: title, field: "name" }, ...CLICKS]}>
      <Async loaded={loaded} isEmpty={({ rows }) => !rows.length || areMissing}
        empty={areMissing ? <NoPlaces countries={{ name: "link_top_countries", link: ask.link }} /> : texts.states.empty}>
        {({ rows }) => (
          <BarList nameLabel={title} valueLabel={t.clicks} bars={(rows as unknown as NamedClicks[]).map(({ name, country, clicks }) => ({
            key: `${name} ${country ?? ""}`, name: inCountry && country ? `${shown(field, name)}, ${shown("country", country)}` : shown(field, name), value: clicks,
          }))} />
        )}
      </Async>
    </Card>
  );
}
