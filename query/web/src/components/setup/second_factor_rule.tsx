// Whether everybody of the organization needs a second factor.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";

const t = moreTexts.people.rule;

export function SecondFactorRule({ organization, changed }: { organization: Schemas["OrganizationResource"]; changed: () => void }) {
  const [asked, setAsked] = useState(false);
  const { requireSecondFactor: isRequired } = organization;
  const change = async () => {
    await fetchJson("/v1/organization", { method: "PATCH", body: { requireSecondFactor: !isRequired } });
    changed();
  };
  const action = isRequired ? t.release : t.require;
  return (
    <Card title={t.title} actions={<button type="button" class="button" onClick={() => setAsked(true)}>{action} …</button>}>
      <p class="quiet card-text">{isRequired ? t.isRequired : t.isNotRequired}</p>
      {asked && <ConfirmDialog title={action} text={isRequired ? t.confirmRelease : t.confirmRequire} kind="primary" action={action} run={change} close={() => setAsked(false)} />}
    </Card>
  );
}
