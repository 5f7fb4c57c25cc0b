// The people of the organization: invite them, change their roles, help them to sign in, remove them.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { mayEverywhere, me, timezone } from "../../api/session";
import { isolate } from "../../isolate";
import { formatInstant } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { EmailText } from "../email_text";
import { Icon } from "../icon";
import { MenuItem, Popover } from "../popover";
import { Snippet } from "../request_dialog";
import { roleName } from "../role_name";
import { Async } from "../states";
import { FirstOwner } from "./first_owner";
import { NeedsAdmin } from "./needs_scope";
import { isOwnerless, usePeople } from "./people_list";
import { PersonDialog } from "./person_dialog";
import { websiteName } from "./website_name";

type Person = Schemas["Person"];
type SentLink = Schemas["SentLink"];
const t = moreTexts.people;

/** What is asked about before it is done. */
type Action = "invitation" | "reset" | "signOut" | "secondFactor" | "remove";
const DANGEROUS: Action[] = ["secondFactor", "remove"];

/** A link that was made, and for whom. */
interface Made {
  email: string;
  of: "invitation" | "reset";
  sent: SentLink;
}

export function People() {
  const list = usePeople();
  const [edited, setEdited] = useState<Person | "new" | null>(null);
  const [asked, setAsked] = useState<{ person: Person; action: Action } | null>(null);
  const [made, setMade] = useState<Made | null>(null);
  if (!mayEverywhere("admin")) return <NeedsAdmin title={t.title} />;
  const saved = (email: string, invitation?: SentLink) => {
    setEdited(null);
    if (invitation) setMade({ email, of: "invitation", sent: invitation });
    list.reload();
  };
  const act = async () => {
    const { person, action } = asked!;
    const sent = await perform(person, action);
    setMade(sent && { email: person.email, of: action as Made["of"], sent });
    list.reload();
  };
  return (
    <>
      {list.value && me.value?.key && isOwnerless(list.value) && <FirstOwner made={list.reload} />}
      <Card title={t.title} actions={<button type="button" class="button" onClick={() => setEdited("new")}><Icon name="plus" />{t.invite}</button>}>
        <p class="quiet card-text">{t.hint}</p>
        {made && <SentLinkNote made={made} />}
        <Async loaded={list} lines={3} empty={t.none} isEmpty={(people) => !people.length}>
          {(people) => (
            <DataTable label={t.title} rows={people} rowKey={({ id }) => id} columns={[
              { key: "name", label: t.name, className: "address", render: (one) => <Named person={one} /> },
              { key: "access", className: "import-word", label: t.access, render: (one) => accessOf(one).map((line) => <div key={line}>{line}</div>) },
              { key: "state", extra: true, label: moreTexts.setup.state, render: ({ state }) => t.states[state] },
              { key: "factor", extra: "wide", label: t.secondFactor, render: ({ secondFactor }) => (secondFactor ? t.yes : t.no) },
              { key: "seen", extra: true, label: t.lastSignIn, render: ({ lastSignInAt }) => formatInstant(lastSignInAt, timezone.value) },
              { key: "act", label: "", render: (one) => mayChange(one) && (
                <Popover label={<Icon name="ellipsis" />} name={t.actionsOf(titleOf(one))} className="icon">
                  {(close) => (
                    <>
                      <MenuItem onClick={() => { close(); setEdited(one); }}>{t.changeRole}</MenuItem>
                      {actionsOf(one).map((action) => (
                        <MenuItem key={action} onClick={() => { close(); setAsked({ person: one, action }); }}>{t.actions[action].title}</MenuItem>
                      ))}
                    </>
                  )}
                </Popover>) },
            ]} />
          )}
        </Async>
      </Card>
      {edited && <PersonDialog person={edited === "new" ? null : edited} close={() => setEdited(null)} saved={saved} />}
      {asked && (
        <ConfirmDialog title={`${t.actions[asked.action].title}: ${isolate(titleOf(asked.person))}`} text={t.actions[asked.action].text}
          action={t.actions[asked.action].title} kind={DANGEROUS.includes(asked.action) ? "danger" : "primary"} run={act} close={() => setAsked(null)} />
      )}
    </>
  );
}

const titleOf = ({ name, email }: Person): string => name || email;

/** Only owners change owners. */
const mayChange = ({ role }: Person): boolean => role !== "owner" || me.value?.person?.role === "owner";

/** What oneself does in one's account, and not here. */
const OF_OTHERS: Action[] = ["reset", "secondFactor"];

function actionsOf({ id, state, secondFactor }: Person): Action[] {
  if (state === "invited") return ["invitation", "remove"];
  const all: Action[] = ["reset", "signOut", ...(secondFactor ? ["secondFactor" as const] : []), "remove"];
  return id === me.value?.person?.id ? all.filter((each) => !OF_OTHERS.includes(each)) : all;
}

const REQUESTS: Record<Action, [method: string, path: string]> = {
  invitation: ["POST", "/invitation"], reset: ["POST", "/password-reset"], signOut: ["POST", "/sign-out"],
  secondFactor: ["DELETE", "/second-factor"], remove: ["DELETE", ""],
};

/** Does it; the link that it made, if it made one. */
async function perform({ id }: Person, action: Action): Promise<SentLink | null> {
  const [method, path] = REQUESTS[action];
  const answer = await fetchJson<{ data?: SentLink }>(`/v1/people/${id}${path}`, { method });
  return answer.data ?? null;
}

function Named({ person: { name, email, id, state } }: { person: Person }) {
  return <>{name || <EmailText text={email} />}{name && <> <small><EmailText text={email} /></small></>}{id === me.value?.person?.id && <> <small>({t.you})</small></>} <small class="phone-only tag">{t.states[state]}</small></>;
}

/** The role on all websites, and those on single ones, a line each. */
function accessOf({ role, websiteRoles }: Person): string[] {
  const lines = Object.entries(websiteRoles).map(([id, one]) => `${isolate(websiteName(id))}: ${roleName(one)}`);
  if (role) lines.unshift(`${t.reaches.all}: ${roleName(role)}`);
  return lines.length ? lines : [t.noAccess];
}

/** Who got a link by mail, or the link, which is shown once. */
function SentLinkNote({ made: { email, of, sent } }: { made: Made }) {
  const until = formatInstant(sent.expires, timezone.value);
  return (
    <div class="new-link" role="status">
      <p class="notice">{sent.mailed ? t.mailed[of](isolate(email), until) : t.printed[of](isolate(email), until)} {sent.problem && t.notMailed(sent.problem)}</p>
      {sent.link && <Snippet label={t.links[of]} text={sent.link} />}
    </div>
  );
}
