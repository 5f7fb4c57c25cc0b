// Who changed what, newest first.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import type { Schemas } from "../../api/types";
import { useLoaded } from "../../api/use";
import { may, me, timezone } from "../../app/session";
import { formatInstant } from "../../format";
import { texts } from "../../texts";
import { Card } from "../card";
import { DataTable } from "../data_table";
import { Async } from "../states";
import { keyName, useApiKeys } from "./api_keys";
import { NeedsAdmin } from "./needs_admin";

type Entry = Schemas["AuditEntry"];
const t = texts.setup;

export function AuditTrail() {
  const [before, setBefore] = useState("");
  const list = useLoaded(may("admin") ? `audit ${before}` : null, (signal) =>
    fetchJson<Schemas["AuditResponse"]>("/v1/audit", { query: { limit: "50", ...(before ? { before } : {}) }, signal }));
  const names = new Map(useApiKeys().value?.map((key) => [key.id, keyName(key)]));
  if (!may("admin")) return <NeedsAdmin title={t.audit} />;
  return (
    <Card title={t.audit}>
      <Async loaded={list} isEmpty={({ data }) => !data.length}>
        {({ data, meta }) => (
          <>
            <DataTable label={t.audit} rows={data} rowKey={({ number }) => number} columns={[
              { key: "at", label: t.at, className: "nowrap", render: (one) => formatInstant(one.at, timezone.value, true) },
              { key: "actor", extra: true, label: t.actor, render: (one) => names.get(one.actor.replace(/^key:/, "")) ?? one.actor },
              { key: "action", label: t.action, render: (one) => `${one.action} ${one.kind}` },
              { key: "record", label: t.name, render: (one) => <>{nameOf(one, names.get(one.recordId))} <code>{one.recordId}</code></> },
              { key: "fields", extra: true, label: t.changes, className: "breakable", render: changes },
            ]} />
            <nav class="pages">
              <button type="button" class="button" disabled={!before} onClick={() => setBefore("")}>{t.newest}</button>
              <button type="button" class="button" disabled={meta.next === null} onClick={() => setBefore(String(meta.next))}>{t.older}</button>
            </nav>
          </>
        )}
      </Async>
    </Card>
  );
}

/** The name that the record had last, as far as the change or this page knows it. */
function nameOf({ recordId, before, after }: Entry, ofKey: string | undefined): string {
  const known = { name: ofKey, ...me.value?.websites.find(({ id }) => id === recordId), ...before, ...after } as Record<string, unknown>;
  return text(known.name || known.domain || known.text || null);
}

function changes({ fields, before, after }: Entry): string {
  const old = (before ?? {}) as Record<string, unknown>;
  const now = (after ?? {}) as Record<string, unknown>;
  return fields.map((name) => (name in old || name in now ? `${name}: ${text(old[name])} → ${text(now[name])}` : name)).join("; ");
}

const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

function text(value: unknown): string {
  if (value === undefined || value === null) return "–";
  if (typeof value !== "string") return JSON.stringify(value);
  return INSTANT.test(value) ? formatInstant(value, timezone.value, true) : value;
}
