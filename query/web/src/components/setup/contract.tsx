// The event contract of the website: which events it sends, with which properties.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { may, subjectQuery } from "../../api/session";
import { useLoaded } from "../../api/use";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { Async } from "../states";
import { FormDialog } from "./form_dialog";

type Response = Schemas["WebsiteContractResponse"];
const t = moreTexts.setup.contract;
const EXAMPLE = { events: { purchase: { properties: { total: { type: "number", required: true }, plan: "text" } } } };
/** Without what is not set. */
const asText = (contract: unknown): string => JSON.stringify(contract, (_, value: unknown) => value ?? undefined, 2);

export function Contract() {
  const path = `/v1/websites/${subjectQuery.value.website_id}/contract`;
  const loaded = useLoaded(path, async (signal) => (await fetchJson<Response>(path, { signal })).data);
  const [editing, setEditing] = useState(false);
  const done = () => {
    setEditing(false);
    loaded.reload();
  };
  const remove = async () => {
    await fetchJson(path, { method: "DELETE" });
    done();
  };
  return (
    <Card title={t.title} actions={may("manage:websites") && loaded.value && (
      <button type="button" class="button" onClick={() => setEditing(true)}>{loaded.value.contract ? t.edit : t.add}</button>)}>
      <Async loaded={loaded} lines={2} isEmpty={({ contract }) => !contract} empty={t.none}>
        {({ contract, enforce }) => (
          <>
            <p class="quiet card-text">{t.enforce} {t.enforced[enforce]}.</p>
            <pre tabIndex={0}>{asText(contract)}</pre>
          </>
        )}
      </Async>
      {editing && loaded.value && (
        <FormDialog<Response> title={t.title} method="PUT" path={path} close={() => setEditing(false)} done={done} wide
          inputs={[
            { name: "contract", label: t.json, lines: 16, required: true, value: asText(loaded.value.contract ?? EXAMPLE) },
            { name: "enforce", label: t.enforce, value: loaded.value.enforce, choices: Object.entries(t.enforced).map(([value, label]) => ({ value, label })) },
          ]}
          body={({ contract = "", enforce }) => ({ contract: JSON.parse(contract), enforce })}
          danger={loaded.value.contract ? { label: t.remove, run: remove } : undefined} />
      )}
    </Card>
  );
}
