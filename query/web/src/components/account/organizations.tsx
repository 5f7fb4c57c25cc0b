// The organizations of the account, of which one is open.
import { fetchJson } from "../../api/request";
import { enter } from "../../api/session";
import { go } from "../../state/address";
import { moreTexts } from "../../texts.more";
import type { Me, Schemas } from "../../types";
import { Card } from "../card";
import { DataTable } from "../data_table";
import { roleName } from "../role_name";
import { useForm } from "../use_form";

const t = moreTexts.account;

export function Organizations({ organizations }: { organizations: Schemas["AccountOrganization"][] }) {
  const { error, busy, submit } = useForm();
  const open = async (organizationId: string) => {
    enter(await fetchJson<Me>("/v1/account/organization", { body: { organizationId } }));
    go("/");
  };
  return (
    <Card title={t.organizations}>
      <DataTable label={t.organizations} rows={organizations} rowKey={({ id }) => id} columns={[
        { key: "name", label: moreTexts.people.name, render: ({ name }) => name },
        { key: "role", label: moreTexts.people.role, render: ({ role }) => roleName(role) },
        { key: "open", label: "", render: ({ id, name, current }) => (current ? t.isOpen : (
          <button type="button" class="quiet-button" disabled={busy} aria-label={t.openOne(name)} onClick={submit(() => open(id))}>{t.open}</button>)) },
      ]} />
      {error && <p class="error" role="alert">{error}</p>}
    </Card>
  );
}
