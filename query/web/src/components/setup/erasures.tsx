// The erasures of a website and of its organization, and the report of one.
import { fetchNewest } from "../../api/pages";
import { fetchJson } from "../../api/request";
import { mayEverywhere, subjectQuery, timezone } from "../../api/session";
import { useLoaded } from "../../api/use";
import { goOwn } from "../../state/address";
import { formatInstant, formatNumber } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { DataTable } from "../data_table";
import { save } from "../download";
import { Facts } from "../facts";
import { Async } from "../states";
import { websiteName } from "./website_name";

export type Erasure = Schemas["ErasureResource"];
const t = moreTexts.setup.rights;
const SECONDS = 5;

export const tableText = (name: string): string => (Object.hasOwn(moreTexts.explore.tables, name) ? moreTexts.explore.tables[name]! : name);

export function Erasures() {
  const isWhole = mayEverywhere("erase:visitors");
  const query: Record<string, string> = isWhole ? {} : { websiteId: subjectQuery.value.website_id! };
  const list = useLoaded(JSON.stringify(query), async (signal) =>
    (await fetchNewest<Erasure>("/v1/erasures", query, signal)).filter(({ state }) => state !== "counting" && state !== "counted"), SECONDS);
  return (
    <Card title={t.erasures}>
      <Async loaded={list} empty={t.none} isEmpty={(all) => !all.length}>
        {(all) => (
          <DataTable label={t.erasures} rows={all} rowKey={({ id }) => id} columns={[
            { key: "at", label: t.asked, className: "nowrap", render: (one) => formatInstant(one.createdAt, timezone.value) },
            { key: "what", label: t.selector, render: selectorText },
            { key: "of", extra: true, label: t.of, render: ownerText },
            { key: "state", label: moreTexts.setup.state, render: ({ state }) => t.states[state] },
            { key: "rows", label: t.rows, number: true, render: ({ report }) => formatNumber(totalRows(report.rows)) },
            { key: "report", label: "", render: ({ id }) => (
              <button type="button" class="quiet-button" aria-label={t.reportOf(id)} onClick={() => goOwn({ erasure: id })}>{t.report}</button>) },
          ]} />
        )}
      </Async>
    </Card>
  );
}

const totalRows = (rows: Record<string, number> = {}): number => Object.values(rows).reduce((sum, count) => sum + count, 0);

const selectorText = ({ selector, propertyName }: Erasure) =>
  <>{t.selectors[selector] ?? selector}{propertyName && <> <code>{propertyName}</code></>}</>;

const ownerText = ({ websiteId, linkId }: Erasure): string => (websiteId ? websiteName(websiteId) : linkId ?? t.everywhere);

/** One erasure as a document: it can be printed, and downloaded as the service writes it. */
export function Report({ id }: { id: string }) {
  const loaded = useLoaded(id, async (signal) => (await fetchJson<{ data: Erasure }>(`/v1/erasures/${encodeURIComponent(id)}`, { signal })).data, SECONDS);
  const download = (one: Erasure) => save(new Blob([JSON.stringify(one, null, 2)], { type: "application/json" }), `erasure-${one.id}.json`);
  return (
    <Card title={t.reportOf(id)} actions={
      <>
        <button type="button" class="quiet-button" onClick={() => goOwn({ erasure: "" })}>{t.back}</button>
        {loaded.value && <button type="button" class="quiet-button" onClick={() => download(loaded.value!)}>↓ JSON</button>}
        <button type="button" class="quiet-button" onClick={() => print()}>{t.print}</button>
      </>}>
      <Async loaded={loaded}>
        {(one) => (
          <>
            <Facts facts={[
              [t.selector, selectorText(one)],
              [t.of, ownerText(one)],
              [moreTexts.setup.state, t.states[one.state]],
              [t.asked, time(one.createdAt)],
              [t.visitors, count(one.report.visitors)],
              [t.removedAt, time(one.report.rewrittenAt)],
              [t.files, count(one.report.files)],
              [t.filesFrom, one.report.doneAt ? "" : time(one.report.filesDeletedFrom)],
              [t.doneAt, time(one.report.doneAt)],
              [t.kafkaUntil, time(one.report.kafkaCopyUntil)],
              [t.spoolUntil, time(one.report.spoolCopyUntil)],
              [t.bucketCopies, one.report.bucketCopies],
            ]} />
            <DataTable label={t.rowsRemoved} rows={Object.entries(one.report.rows ?? {})} rowKey={([table]) => table}
              totals={{ table: t.total, rows: formatNumber(totalRows(one.report.rows)) }} columns={[
                { key: "table", label: moreTexts.setup.table, render: ([table]) => tableText(table) },
                { key: "rows", label: t.rowsRemoved, number: true, render: ([, rows]) => formatNumber(rows) },
                { key: "version", label: t.version, number: true, render: ([table]) => one.report.versions?.[table] ?? "–" },
              ]} />
            <p class="quiet">{t.reportNote}</p>
          </>
        )}
      </Async>
    </Card>
  );
}

const time = (instant: string | undefined): string | undefined => instant && formatInstant(instant, timezone.value, true);
const count = (value: number | undefined): string | undefined => (value === undefined ? undefined : formatNumber(value));
