// Freshness, items that were not stored with their reasons, rate limits that are used.
import { useState } from "preact/hooks";
import { freshness } from "../../api/freshness";
import { fetchJson } from "../../api/request";
import { may, subjectQuery, timezone, website } from "../../api/session";
import { useLoaded } from "../../api/use";
import type { RecordColumn } from "../../state/csv";
import { formatInstant, formatNumber } from "../../state/format";
import { texts } from "../../texts";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { DataTable } from "../data_table";
import { Async } from "../states";
import { Contract } from "./contract";
import { Ledger } from "./ledger";
import { ReplayDialog } from "./replay_dialog";

const t = moreTexts.setup;
const SECONDS = 10;
/** Stages whose items may be sent again. */
const SENT_AGAIN = ["decode", "enrich", "write"];
type Reason = Schemas["QuarantineReason"];
const QUARANTINE_FILE: RecordColumn<Reason>[] = [
  [t.reason, ({ reason }) => reason],
  [t.table, ({ table }) => table],
  [t.items, ({ items }) => String(items)],
  [t.replayed, ({ replayed }) => String(replayed)],
  [texts.download.utc(t.since), ({ firstAt }) => firstAt],
  [texts.download.utc(t.at), ({ lastAt }) => lastAt],
  [t.sample, ({ sample }) => sample ?? ""],
  [t.remedy, ({ remedy }) => remedy],
];

export function System() {
  const query = subjectQuery.value;
  const key = JSON.stringify(query);
  const status = useLoaded(key, async (signal) => {
    const path = `/v1/websites/${query.website_id}/status`;
    return (await fetchJson<Schemas["WebsiteStatusResponse"]>(path, { signal })).data;
  }, SECONDS);
  const quarantine = useLoaded(key, (signal) => fetchJson<Schemas["QuarantineResponse"]>("/v1/quarantine", { query, signal }), SECONDS);
  const [replayed, setReplayed] = useState<Reason | null>(null);
  const limits = useLoaded(key, (signal) => fetchJson<Schemas["LimitsResponse"]>("/v1/limits", { query, signal }), SECONDS);
  return (
    <>
      <Card title={t.freshness}>
        <Async loaded={status} lines={2}>
          {({ watermark, lagSeconds, staleReason }) => (
            <p>{watermark ? t.complete(formatInstant(watermark, timezone.value, true), formatNumber(lagSeconds ?? 0)) : (staleReason ?? freshness.value?.staleReason)}</p>
          )}
        </Async>
      </Card>
      <Ledger />
      <Card title={t.quarantine} load={quarantine.value?.data.length ? async () => (await import("../../api/download")).recordsFile(quarantine.value!.data, QUARANTINE_FILE) : undefined}>
        <Async loaded={quarantine} empty={t.noQuarantine} isEmpty={({ data }) => !data.length}>
          {({ data, meta }) => (
            <>
              <p class="quiet">{t.quarantined(formatNumber(meta.items), meta.days)}</p>
              <DataTable label={t.quarantine} rows={data} columns={[
                { key: "reason", label: t.reason, className: "breakable", render: (one) => one.reason },
                { key: "table", extra: true, label: t.table, render: (one) => one.table },
                { key: "items", label: t.items, number: true, render: (one) => formatNumber(one.items) },
                { key: "replayed", extra: true, label: t.replayed, number: true, render: (one) => formatNumber(one.replayed) },
                { key: "first", extra: true, label: t.since, render: (one) => formatInstant(one.firstAt, timezone.value) },
                { key: "last", extra: true, label: t.at, render: (one) => formatInstant(one.lastAt, timezone.value) },
                { key: "sample", extra: true, label: t.sample, className: "breakable", render: (one) => one.sample && <code>{one.sample}</code> },
                { key: "remedy", extra: true, label: t.remedy, className: "breakable", render: (one) => one.remedy },
                ...(may("manage:websites") ? [{ key: "replay", label: "", render: (one: Reason) => SENT_AGAIN.includes(one.stage) && one.items > 0 && (
                  <button type="button" class="quiet-button" aria-label={t.replay.actionOf(one.reason)} onClick={() => setReplayed(one)}>{t.replay.action}</button>) }] : []),
              ]} />
              {replayed && (
                <ReplayDialog reason={replayed} days={meta.days} close={() => setReplayed(null)} done={quarantine.reload} />
              )}
            </>
          )}
        </Async>
      </Card>
      <Contract />
      <Card title={t.limits}>
        <Async loaded={limits} isEmpty={({ data }) => !data.length}>
          {({ data, meta }) => (
            <>
              <p class="quiet">{t.plan(meta.plan, meta.windowSeconds)}</p>
              <DataTable label={t.limits} rows={data} columns={[
                { key: "group", label: t.group, render: (one) => <>{one.group}{one.websiteId && <small> {website.value?.name}</small>}</> },
                { key: "requests", label: t.requests, number: true, render: ({ requests }) => used(requests) },
                { key: "items", extra: true, label: t.items, number: true, render: ({ items }) => (items ? used(items) : "–") },
              ]} />
            </>
          )}
        </Async>
      </Card>
    </>
  );
}

const used = ({ used: count, limit }: Schemas["Used"]): string => `${formatNumber(count)} / ${formatNumber(limit)}`;
