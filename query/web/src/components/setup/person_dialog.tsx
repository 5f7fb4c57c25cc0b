// Invites a person, or changes the roles of one: a role on all websites, or roles on some.
import { useState } from "preact/hooks";
import { fetchJson, RequestError } from "../../api/request";
import { me } from "../../api/session";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Field } from "../account_fields";
import { Dialog } from "../dialog";
import { FormFooter } from "../form_footer";
import { roleName } from "../role_name";
import { useForm } from "../use_form";
import { websiteName } from "./website_name";

type Person = Schemas["Person"];
type Role = NonNullable<Person["role"]>;
/** On all websites there is one role, and perhaps more on single ones. */
const REACHES = ["all", "some"] as const;
const t = moreTexts.people;
const WEBSITE_ROLES = ["viewer", "analyst", "admin"] as const;
/** With these there is nothing that a role on a website could add. */
const ALL_MIGHTY: Role[] = ["owner", "admin"];

/** Roles on websites that the organization still has. */
function presentRoles(person: Person | null): Record<string, string> {
  const ids = new Set(me.value?.websites.map(({ id }) => id));
  return Object.fromEntries(Object.entries(person?.websiteRoles ?? {}).filter(([id]) => ids.has(id)));
}

export function PersonDialog({ person, close, saved }: {
  /** Null invites one. */
  person: Person | null;
  close: () => void;
  saved: (email: string, invitation?: Schemas["SentLink"]) => void;
}) {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [reach, setReach] = useState<(typeof REACHES)[number]>(person && !person.role ? "some" : "all");
  const [role, setRole] = useState<Role>(person?.role ?? "viewer");
  const [websiteRoles, setWebsiteRoles] = useState(() => presentRoles(person));
  const { error, busy, submit } = useForm({ email: moreTexts.signIn.email, role: t.role, websiteRoles: t.onWebsites });
  const isAll = reach === "all";
  const isAlmighty = isAll && ALL_MIGHTY.includes(role);
  const roles: readonly Role[] = me.value?.person?.role === "owner" ? ["viewer", "analyst", "admin", "owner"] : WEBSITE_ROLES;
  const send = async () => {
    if (!isAll && !Object.keys(websiteRoles).length) throw new RequestError(400, "", t.noWebsiteChosen);
    const rights = { role: isAll ? role : null, websiteRoles: isAlmighty ? {} : websiteRoles };
    if (person) {
      await fetchJson(`/v1/people/${person.id}`, { method: "PATCH", body: rights });
      saved(person.email);
    } else {
      const { data } = await fetchJson<Schemas["InvitedPersonResponse"]>("/v1/people", { body: { ...rights, email: email.trim(), name: name.trim() } });
      saved(data.email, data.invitation);
    }
  };
  const setOne = (id: string, chosen: string) => {
    const { [id]: _, ...others } = websiteRoles;
    setWebsiteRoles(chosen ? { ...others, [id]: chosen } : others);
  };
  return (
    <Dialog title={person ? t.changeRoleOf(person.name || person.email) : t.invite} close={close}>
      <form class="form" onSubmit={submit(send)}>
        {!person && (
          <>
            <Field name="email" type="email" label={moreTexts.signIn.email} autocomplete="off" value={email} change={setEmail} />
            <Field name="name" label={t.name} autocomplete="off" help={moreTexts.setup.optional} value={name} change={setName} optional />
          </>
        )}
        <fieldset>
          <legend>{t.access}</legend>
          {REACHES.map((each) => (
            <label key={each} class="check">
              <input type="radio" name="reach" value={each} checked={reach === each} onChange={() => setReach(each)} />{t.reaches[each]}
            </label>
          ))}
        </fieldset>
        {isAll && (
          <label>{t.role}
            <select name="role" value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>
              {roles.map((each) => <option key={each} value={each}>{roleName(each)}</option>)}
            </select>
            <small>{t.roleHints[role]}</small>
          </label>
        )}
        {!isAlmighty && (
          <fieldset class="website-roles">
            <legend>{isAll ? t.moreOnWebsites : t.onWebsites}</legend>
            {(me.value?.websites ?? []).map(({ id }) => (
              <label key={id}><span>{websiteName(id)}</span>
                <select name={`website-${id}`} value={websiteRoles[id] ?? ""} onChange={(event) => setOne(id, event.currentTarget.value)}>
                  <option value="">{isAll ? t.asAbove : t.noAccess}</option>
                  {WEBSITE_ROLES.map((each) => <option key={each} value={each}>{roleName(each)}</option>)}
                </select>
              </label>
            ))}
          </fieldset>
        )}
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={person ? moreTexts.setup.save : t.invite} close={close} busy={busy} />
      </form>
    </Dialog>
  );
}
