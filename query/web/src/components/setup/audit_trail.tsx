// Who changed what, newest first; of one kind of record or by one actor.
import { fetchJson } from "../../api/request";
import { may, timezone } from "../../api/session";
import { useLoaded } from "../../api/use";
import { address, goOwn } from "../../state/address";
import { formatInstant } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { DataTable } from "../data_table";
import { EmailText } from "../email_text";
import { roleName } from "../role_name";
import { Async } from "../states";
import { type ApiKey, keyName, keyTitle, useApiKeys } from "./api_keys";
import { NeedsAdmin } from "./needs_scope";
import { websiteName } from "./website_name";

type Entry = Schemas["AuditEntry"];
const t = moreTexts.setup;
const LIMIT = "50";
const KEY = "key:";
const ANY_KEY = "key";
const PERSON = "person:";
const OPERATOR = "cli";

export function AuditTrail() {
  const { kind = "", actor = "", before = "" } = address.value.own;
  const query = { limit: LIMIT, ...(kind && { kind }), ...(actor && { actor }), ...(before && { before }) };
  const list = useLoaded(may("admin") ? `audit ${JSON.stringify(query)}` : null, (signal) =>
    fetchJson<Schemas["AuditResponse"]>("/v1/audit", { query, signal }));
  const keys = useApiKeys().value ?? [];
  if (!may("admin")) return <NeedsAdmin title={t.audit} />;
  const names = new Map(keys.map((key) => [key.id, keyName(key)]));
  return (
    <Card title={t.audit}>
      <Choices kind={kind} actor={actor} keys={keys} seen={list.value?.data.map((one) => one.actor) ?? []} />
      <Async loaded={list} isEmpty={({ data }) => !data.length} empty={kind || actor ? t.noChanges : undefined}>
        {({ data, meta }) => (
          <>
            <DataTable label={t.audit} rows={data} rowKey={({ number }) => number} columns={[
              { key: "at", label: t.at, className: "nowrap", render: (one) => formatInstant(one.at, timezone.value, true) },
              { key: "actor", className: "address", label: t.actor, render: (one) => <EmailText text={actorName(one.actor, names)} /> },
              { key: "action", className: "import-word", label: t.action, render: (one) => `${one.action} ${one.kind}` },
              { key: "record", label: t.name, className: "breakable", render: (one) => <Named entry={one} ofKey={names.get(one.recordId)} /> },
              { key: "fields", extra: true, label: t.changes, className: "breakable", render: changes },
            ]} />
            <nav class="pages">
              <button type="button" class="button" disabled={!before} onClick={() => goOwn({ before: "" })}>{t.newest}</button>
              <button type="button" class="button" disabled={meta.next === null} onClick={() => goOwn({ before: String(meta.next) })}>{t.older}</button>
            </nav>
          </>
        )}
      </Async>
    </Card>
  );
}

/** Which changes are listed. */
function Choices({ kind, actor, keys, seen }: { kind: string; actor: string; keys: ApiKey[]; seen: string[] }) {
  const named = [[ANY_KEY, t.anyKey], [OPERATOR, t.commandLine], ...keys.map((key) => [KEY + key.id, keyTitle(key)])] as [id: string, label: string][];
  const known = new Map([...[...seen, ...(actor ? [actor] : [])].map((id): [string, string] => [id, id.replace(PERSON, "")]), ...named]);
  return (
    <form class="choices long" onSubmit={(event) => event.preventDefault()}>
      <label>{t.kind}
        <select name="kind" value={kind} onChange={(event) => goOwn({ kind: event.currentTarget.value, before: "" })}>
          <option value="">{t.everything}</option>
          {Object.entries(t.kinds).map(([id, label]) => <option key={id} value={id}>{label}</option>)}
        </select>
      </label>
      <label>{t.actor}
        <select name="actor" value={actor} onChange={(event) => goOwn({ actor: event.currentTarget.value, before: "" })}>
          <option value="">{t.everybody}</option>
          {[...known].map(([id, label]) => <option key={id} value={id}>{label}</option>)}
        </select>
      </label>
    </form>
  );
}

const actorName = (actor: string, keys: Map<string, string>): string =>
  actor === OPERATOR ? t.commandLine : keys.get(actor.replace(KEY, "")) ?? actor.replace(PERSON, "");

/** What the record is called, of a short link with where it leads, of a person with the e-mail address; else its id. */
function Named({ entry: { recordId, record }, ofKey }: { entry: Entry; ofKey: string | undefined }) {
  const { name, email, domain, slug, targetUrl, text: note } = (record ?? {}) as Record<string, string | undefined>;
  if (email) return <>{name || <EmailText text={email} />}{name && <> <small><EmailText text={email} /></small></>}</>;
  const title = ofKey ?? name ?? domain ?? note;
  const more = slug ? `${slug} → ${targetUrl ?? "–"}` : name && domain !== name ? domain : undefined;
  return <>{title ?? "–"} {more && <small>{more} </small>}<code>{recordId}</code></>;
}

function changes({ kind, fields, before, after }: Entry): string {
  const old = (before ?? {}) as Record<string, unknown>;
  const now = (after ?? {}) as Record<string, unknown>;
  return fields.map((name) => {
    if (ABOUT_PEOPLE.includes(kind) && Object.hasOwn(t.done, name)) return t.done[name];
    const label = t.changed[name] ?? name;
    return name in old || name in now ? `${label}: ${text(old[name], name)} → ${text(now[name], name)}` : label;
  }).join("; ");
}

/** Kinds whose fields say what somebody did. */
const ABOUT_PEOPLE = ["member", "account"];

const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

function text(value: unknown, field: string): string {
  if (value === undefined || value === null) return "–";
  if (field === "role") return roleName(String(value));
  if (field === "websiteRoles" && typeof value === "object") return rolesText(value as Record<string, string>);
  if (typeof value === "boolean") return value ? moreTexts.people.yes : moreTexts.people.no;
  if (typeof value !== "string") return JSON.stringify(value);
  return INSTANT.test(value) ? formatInstant(value, timezone.value, true) : value;
}

const rolesText = (roles: Record<string, string>): string =>
  Object.entries(roles).map(([id, role]) => `${websiteName(id)}: ${roleName(role)}`).join(", ") || "–";
