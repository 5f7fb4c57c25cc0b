// API keys: create, limit, rotate, revoke.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { may, me, timezone } from "../../api/session";
import { formatInstant } from "../../state/format";
import { endOfDay } from "../../state/period";
import { texts } from "../../texts";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { endDay } from "../end_day";
import { Icon } from "../icon";
import { Snippet } from "../request_dialog";
import { Async } from "../states";
import { type ApiKey, keyTitle, useApiKeys } from "./api_keys";
import { FormDialog } from "./form_dialog";
import { NeedsAdmin } from "./needs_scope";
import { websiteName } from "./website_name";

type Created = Schemas["CreatedApiKeyResponse"];
const t = moreTexts.setup;
const SCOPES = ["track:events", "read:data", "read:links", "write:links", "write:records", "manage:websites", "erase:visitors", "admin"];

export function Keys() {
  const list = useApiKeys();
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<Created["data"] | null>(null);
  const show = ({ data }: Created) => {
    setCreating(false);
    setCreated(data);
    list.reload();
  };
  const [asked, setAsked] = useState<ApiKey | null>(null);
  const [rotated, setRotated] = useState<ApiKey | null>(null);
  const revoke = async (key: ApiKey) => {
    await fetchJson(`/v1/keys/${key.id}/revoke`, { method: "POST" });
    if (created?.id === key.id) setCreated(null);
    list.reload();
  };
  const rotate = async (key: ApiKey) => show(await fetchJson<Created>(`/v1/keys/${key.id}/rotate`, { body: {} }));
  if (!may("admin")) return <NeedsAdmin title={t.keys} />;
  return (
    <Card title={t.keys} actions={<button type="button" class="button" onClick={() => setCreating(true)}><Icon name="plus" />{t.addKey}</button>}>
      {created && <div role="status"><p class="notice">{t.keyReady}</p><Snippet label={t.keyText} text={created.key} /></div>}
      <Async loaded={list} isEmpty={(keys) => !keys.length} empty={t.noKeys}>
        {(keys) => (
          <DataTable label={t.keys} rows={keys} rowKey={({ id }) => id} columns={[
            { key: "name", label: t.name, render: (key) => key.name || "–" },
            { key: "prefix", extra: true, label: t.keyText, render: (key) => <code>{key.prefix}…</code> },
            { key: "website", extra: true, label: texts.app.website, render: (key) => websiteName(key.websiteId) },
            { key: "scopes", extra: true, label: t.scopes, render: (key) => key.scopes.join(", ") },
            { key: "state", label: t.state, render: (key) => t.states[key.state] },
            { key: "expires", extra: true, label: t.expires, render: (key) => (key.expiresAt ? endDay(key.expiresAt) : formatInstant(null, timezone.value)) },
            { key: "used", extra: true, label: t.lastUsed, render: (key) => formatInstant(key.lastUsedAt, timezone.value) },
            { key: "act", label: "", render: (key) => key.state === "active" && (
              <span class="row-actions">
                <button type="button" class="quiet-button" aria-label={t.rotateOne(keyTitle(key))} onClick={() => setRotated(key)}>{t.rotate} …</button>
                <button type="button" class="quiet-button" aria-label={t.revokeOne(keyTitle(key))} onClick={() => setAsked(key)}>{t.revoke}</button>
              </span>) },
          ]} />
        )}
      </Async>
      {asked && (
        <ConfirmDialog title={t.revokeOne(keyTitle(asked))} text={t.confirmRevoke(keyTitle(asked))} action={t.revoke}
          run={() => revoke(asked)} close={() => setAsked(null)} />
      )}
      {rotated && (
        <ConfirmDialog title={t.rotateOne(keyTitle(rotated))} kind="primary" action={t.rotate} run={() => rotate(rotated)} close={() => setRotated(null)}
          text={t.confirmRotate(keyTitle(rotated), rotated.expiresAt ? formatInstant(rotated.expiresAt, timezone.value) : null)} />
      )}
      {creating && (
        <FormDialog<Created> title={t.addKey} method="POST" path="/v1/keys" close={() => setCreating(false)} done={show} submit={t.addKey}
          inputs={[
            { name: "name", label: t.name, required: true },
            { name: "scopes", label: t.scopes, value: "read:data", several: SCOPES.map((scope) => ({ value: scope, label: `${scope}: ${t.scopeHints[scope]}` })) },
            { name: "websiteId", label: t.keyWebsite, help: t.keyWebsiteHelp, choices: [
              { value: "", label: t.allWebsites }, ...(me.value?.websites ?? []).map(({ id }) => ({ value: id, label: websiteName(id) }))] },
            { name: "expiresAt", label: t.lastDay, help: t.optional, type: "date" },
          ]}
          body={({ name, scopes, websiteId, expiresAt }) => ({
            name, scopes: (scopes ?? "").split(" ").filter(Boolean), websiteId: websiteId || null, expiresAt: endOfDay(expiresAt, timezone.value),
          })} />
      )}
    </Card>
  );
}
