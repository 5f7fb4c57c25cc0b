// API keys of the person, which may do what the person may.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { me } from "../../api/session";
import { useLoaded } from "../../api/use";
import { formatDay } from "../../state/format";
import { dayOf } from "../../state/period";
import { localZone } from "../../state/time_zones";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Icon } from "../icon";
import { type ApiKey, keyColumns, keyTitle } from "../setup/api_keys";
import { type CreatedKey, NewKeyDialog, NewKeyText, SCOPES } from "../setup/new_key";
import { Async } from "../states";

const t = moreTexts.account.keys;
const PATH = "/v1/account/keys";

export function PersonalKeys() {
  const list = useLoaded("account keys", async (signal) => (await fetchJson<Schemas["PersonalKeysResponse"]>(PATH, { signal })).data);
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const [asked, setAsked] = useState<ApiKey | null>(null);
  const { organization, scopes: held } = me.value!;
  const zone = localZone();
  const { name, scopes, state, expires, used } = keyColumns(zone);
  const show = (key: CreatedKey) => {
    setCreating(false);
    setCreated(key);
    list.reload();
  };
  const remove = async ({ id }: ApiKey) => {
    await fetchJson(`${PATH}/${id}`, { method: "DELETE" });
    if (created?.id === id) setCreated(null);
    list.reload();
  };
  return (
    <Card title={t.title} actions={<button type="button" class="button" onClick={() => setCreating(true)}><Icon name="plus" />{moreTexts.setup.addKey}</button>}>
      <p class="quiet card-text">{t.hint(organization?.name ?? "")}</p>
      {created && <NewKeyText created={created} />}
      <Async loaded={list} lines={3} isEmpty={(keys) => !keys.length} empty={t.none}>
        {(keys) => (
          <DataTable label={t.title} rows={keys} rowKey={({ id }) => id} columns={[
            name, scopes,
            { key: "created", extra: true, label: t.created, render: ({ createdAt }) => formatDay(dayOf(Date.parse(createdAt), zone)) },
            used, { ...expires, extra: false, render: (key) => (key.state === "active" ? expires : state).render(key) },
            { key: "remove", label: "", render: (key) => (
              <button type="button" class="quiet-button" aria-label={t.removeOne(keyTitle(key))} onClick={() => setAsked(key)}>{t.remove}</button>) },
          ]} />
        )}
      </Async>
      {asked && (
        <ConfirmDialog title={t.removeOne(keyTitle(asked))} text={t.confirm(keyTitle(asked))} action={t.remove} run={() => remove(asked)} close={() => setAsked(null)} />
      )}
      {creating && (
        <NewKeyDialog path={PATH} scopes={SCOPES.filter((scope) => held.includes(scope))} zone={zone} close={() => setCreating(false)} done={show} />
      )}
    </Card>
  );
}
