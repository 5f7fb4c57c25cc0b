// Set-up: websites and their script, privacy, rights of visitors, API keys, imports, what was not stored, the audit trail.
import type { ComponentType } from "preact";
import { me, website } from "../api/session";
import { Tabs } from "../components/card";
import { AuditTrail } from "../components/setup/audit_trail";
import { Imports } from "../components/setup/imports";
import { Keys } from "../components/setup/keys";
import { Organization } from "../components/setup/organization";
import { Privacy } from "../components/setup/privacy";
import { System } from "../components/setup/system";
import { VisitorRights } from "../components/setup/visitor_rights";
import { Websites } from "../components/setup/websites";
import { address, goOwn } from "../state/address";
import { texts } from "../texts";

const t = texts.setup;
const PARTS: { id: string; label: string; part: ComponentType; ofWebsite?: boolean; ofOrganization?: boolean }[] = [
  { id: "websites", label: t.websites, part: Websites },
  { id: "privacy", label: t.privacy, part: Privacy, ofWebsite: true },
  { id: "visitors", label: t.rights.tab, part: VisitorRights, ofWebsite: true },
  { id: "keys", label: t.keys, part: Keys },
  { id: "organization", label: t.organization, part: Organization, ofOrganization: true },
  { id: "imports", label: t.imports, part: Imports, ofWebsite: true },
  { id: "system", label: t.system, part: System, ofWebsite: true },
  { id: "audit", label: t.audit, part: AuditTrail },
];

export default function Setup() {
  const whole = me.value?.key?.websiteId === null;
  const parts = PARTS.filter(({ ofWebsite, ofOrganization }) => (!ofWebsite || website.value) && (!ofOrganization || whole));
  const chosen = parts.find(({ id }) => id === address.value.own.part) ?? parts[0]!;
  const Part = chosen.part;
  return (
    <>
      <div class="setup-tabs"><Tabs tabs={parts} chosen={chosen.id} choose={(part) => goOwn({ part, erasure: "", import: "" })} most={parts.length} /></div>
      <Part />
    </>
  );
}
