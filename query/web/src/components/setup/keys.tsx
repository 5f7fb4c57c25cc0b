// API keys: create, limit, rotate, revoke.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { may, me, timezone } from "../../api/session";
import { formatInstant } from "../../state/format";
import { texts } from "../../texts";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Icon } from "../icon";
import { Async } from "../states";
import { type ApiKey, keyColumns, keyTitle, useApiKeys } from "./api_keys";
import { NeedsAdmin } from "./needs_scope";
import { type CreatedKey, NewKeyDialog, NewKeyText, SCOPES } from "./new_key";
import { usePeople } from "./people_list";
import { websiteName } from "./website_name";

const t = moreTexts.setup;

export function Keys() {
  const list = useApiKeys();
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const people = usePeople(list.value?.some(({ personId }) => personId) ?? false);
  const personOf = (personId: string): string => people.value?.find(({ id }) => id === personId)?.email ?? t.personal;
  const { name, scopes, state, expires, used } = keyColumns(timezone.value);
  const show = (key: CreatedKey) => {
    setCreating(false);
    setCreated(key);
    list.reload();
  };
  const [asked, setAsked] = useState<ApiKey | null>(null);
  const [rotated, setRotated] = useState<ApiKey | null>(null);
  const revoke = async (key: ApiKey) => {
    await fetchJson(`/v1/keys/${key.id}/revoke`, { method: "POST" });
    if (created?.id === key.id) setCreated(null);
    list.reload();
  };
  const rotate = async (key: ApiKey) => show((await fetchJson<Schemas["CreatedApiKeyResponse"]>(`/v1/keys/${key.id}/rotate`, { body: {} })).data);
  if (!may("admin")) return <NeedsAdmin title={t.keys} />;
  return (
    <Card title={t.keys} actions={<button type="button" class="button" onClick={() => setCreating(true)}><Icon name="plus" />{t.addKey}</button>}>
      {created && <NewKeyText created={created} />}
      <Async loaded={list} isEmpty={(keys) => !keys.length} empty={t.noKeys}>
        {(keys) => (
          <DataTable label={t.keys} rows={keys} rowKey={({ id }) => id} columns={[
            { ...name, render: (key) => <>{name.render(key)}{key.personId && <> <small>{personOf(key.personId)}</small></>}</> },
            { key: "prefix", extra: true, label: t.keyText, render: (key) => <code>{key.prefix}…</code> },
            { key: "website", extra: true, label: texts.app.website, render: (key) => websiteName(key.websiteId) },
            scopes, state, expires, used,
            { key: "act", label: "", render: (key) => key.state === "active" && (
              <span class="row-actions">
                {key.personId === null && (
                  <button type="button" class="quiet-button" aria-label={t.rotateOne(keyTitle(key))} onClick={() => setRotated(key)}>{t.rotate} …</button>)}
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
        <NewKeyDialog path="/v1/keys" scopes={SCOPES} zone={timezone.value} close={() => setCreating(false)} done={show}
          website={{ name: "websiteId", label: t.keyWebsite, help: t.keyWebsiteHelp, choices: [
            { value: "", label: t.allWebsites }, ...(me.value?.websites ?? []).map(({ id }) => ({ value: id, label: websiteName(id) }))] }} />
      )}
    </Card>
  );
}
