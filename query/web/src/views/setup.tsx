// Set-up, in sections: what belongs to the website, and what to the organization.
import type { ComponentType } from "preact";
import { may, mayEverywhere, me, website } from "../api/session";
import { Icon } from "../components/icon";
import { Alerts } from "../components/setup/alerts";
import { AuditTrail } from "../components/setup/audit_trail";
import { Channels } from "../components/setup/channels";
import { Imports } from "../components/setup/imports";
import { Keys } from "../components/setup/keys";
import { MoneyProperties } from "../components/setup/money_properties";
import { Organization } from "../components/setup/organization";
import { PathGroups } from "../components/setup/path_groups";
import { People } from "../components/setup/people";
import { Privacy } from "../components/setup/privacy";
import { Reports } from "../components/setup/reports";
import { Shields } from "../components/setup/shields";
import { System } from "../components/setup/system";
import { TagAndTrackers } from "../components/setup/tag_and_trackers";
import { VisitorRights } from "../components/setup/visitor_rights";
import { Websites } from "../components/setup/websites";
import { address, addressWith, follow, go } from "../state/address";
import { moreTexts } from "../texts.more";
import type { IconName } from "../types";

const t = moreTexts.setup;

interface Section {
  id: string;
  label: string;
  icon: IconName;
  section: ComponentType;
  /** Only for a sign-in to the whole organization. */
  ofWhole?: boolean;
  /** Whether it is a matter of whoever may save records, too. */
  ofRecords?: boolean;
}

const OF_WEBSITE: Section[] = [
  { id: "tag", label: t.tagAndTrackers, icon: "code", section: TagAndTrackers },
  { id: "money", label: t.money.title, icon: "coins", section: MoneyProperties },
  { id: "path-groups", label: t.pathGroups.title, icon: "layers", section: PathGroups, ofRecords: true },
  { id: "alerts", label: moreTexts.alerts.title, icon: "bell", section: Alerts, ofRecords: true },
  { id: "channels", label: moreTexts.channels.title, icon: "megaphone", section: Channels, ofRecords: true },
  { id: "reports", label: moreTexts.reports.title, icon: "mail", section: Reports, ofRecords: true },
  { id: "imports", label: t.imports, icon: "upload", section: Imports },
  { id: "privacy", label: t.privacy, icon: "shield", section: Privacy },
  { id: "shields", label: t.shields.title, icon: "shield", section: Shields },
  { id: "visitors", label: t.rights.tab, icon: "user", section: VisitorRights },
  { id: "system", label: t.system, icon: "activity", section: System },
];
const OF_ORGANIZATION: Section[] = [
  { id: "websites", label: t.websites, icon: "globe", section: Websites },
  { id: "people", label: moreTexts.people.title, icon: "users", section: People, ofWhole: true },
  { id: "keys", label: t.keys, icon: "key-round", section: Keys },
  { id: "organization", label: t.organization, icon: "building-2", section: Organization, ofWhole: true },
  { id: "audit", label: t.audit, icon: "history", section: AuditTrail },
];

export default function Setup() {
  const isWhole = mayEverywhere("manage:websites");
  const { own } = address.value;
  const manages = may("manage:websites");
  const groups = [
    { label: website.value?.name || website.value?.domain || "", sections: website.value ? OF_WEBSITE.filter(({ ofRecords }) => ofRecords || manages) : [] },
    { label: me.value?.organization?.name || t.organization, sections: manages ? OF_ORGANIZATION.filter(({ ofWhole }) => !ofWhole || isWhole) : [] },
  ];
  const all = groups.flatMap(({ sections }) => sections);
  const chosen = all.find(({ id }) => id === own.part) ?? (website.value ? all[0]! : OF_ORGANIZATION[0]!);
  const Shown = chosen.section;
  return (
    <div class="setup">
      <select class="phone-only" aria-label={t.sections} value={chosen.id} onChange={(e) => go({ item: "", own: { part: e.currentTarget.value } })}>
        {groups.map(({ label, sections }, i) => sections.length > 0 && (
          <optgroup key={i} label={label}>{sections.map(({ id, label: title }) => <option key={id} value={id}>{title}</option>)}</optgroup>
        ))}
      </select>
      <nav class="setup-nav" aria-label={t.sections}>
        {groups.map(({ label, sections }, i) => sections.length > 0 && (
          <div key={i}>
            <span class="side-group">{label}</span>
            {sections.map(({ id, label: title, icon }) => (
              <a key={id} href={addressWith({ view: "setup", item: "", own: { part: id } })} onClick={follow} aria-current={id === chosen.id ? "page" : undefined}>
                <Icon name={icon} />{title}
              </a>
            ))}
          </div>
        ))}
      </nav>
      <div class="setup-section"><Shown /></div>
    </div>
  );
}
