// The organization of the sign-in: its name, its plan, and days to keep.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { loadSession, mayEverywhere, timezone } from "../../api/session";
import { useLoaded } from "../../api/use";
import { formatInstant } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { Copyable } from "../copy";
import { DataTable } from "../data_table";
import { Async } from "../states";
import { SecondFactorRule } from "./second_factor_rule";
import { FormDialog } from "./form_dialog";
import { KeepDays } from "./keep_days";

type Response = Schemas["OrganizationResponse"];
const t = moreTexts.setup;

export function Organization() {
  const loaded = useLoaded("organization", (signal) => fetchJson<Response>("/v1/organization", { signal }));
  const [editing, setEditing] = useState(false);
  const done = async () => {
    setEditing(false);
    loaded.reload();
    await loadSession();
  };
  return (
    <>
      <Card title={t.organization} actions={mayEverywhere("admin") && (
        <button type="button" class="button" onClick={() => setEditing(true)}>{t.rename}</button>)}>
        <Async loaded={loaded} lines={2}>
          {({ data }) => (
            <>
              <DataTable label={t.organization} rows={[data]} columns={[
                { key: "name", label: t.name, render: ({ name }) => name },
                { key: "plan", label: t.planName, render: ({ plan }) => plan },
                { key: "id", extra: true, label: t.id, render: ({ id }) => <Copyable text={id} /> },
                { key: "created", extra: true, label: moreTexts.links.created, render: ({ createdAt }) => formatInstant(createdAt, timezone.value) },
              ]} />
              <p class="quiet">{t.planHint} <code>tidemark organizations update</code></p>
              {editing && (
                <FormDialog<Response> title={t.rename} method="PATCH" path="/v1/organization" close={() => setEditing(false)}
                  inputs={[{ name: "name", label: t.name, value: data.name, required: true }]} body={({ name }) => ({ name })}
                  done={() => void done()} />
              )}
            </>
          )}
        </Async>
      </Card>
      {loaded.value && mayEverywhere("admin") && <SecondFactorRule organization={loaded.value.data} changed={() => void done()} />}
      {loaded.value && (
        <KeepDays key={loaded.value.data.updatedAt} path="/v1/organization" keepDays={loaded.value.data.keepDays} mayChange={mayEverywhere("admin")} done={loaded.reload} />
      )}
    </>
  );
}
