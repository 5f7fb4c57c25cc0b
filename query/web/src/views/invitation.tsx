// Accepts an invitation: by the password of the account, or by a name and a new password.
import { useState } from "preact/hooks";
import { fetchJson, type RequestError, submitForm } from "../api/request";
import { enter, readMe } from "../api/session";
import { useLoaded } from "../api/use";
import { Field, NewPasswordField, SecondFactorField } from "../components/account_fields";
import { useToken } from "../components/address_token";
import { AlonePage } from "../components/alone_page";
import { Facts } from "../components/facts";
import { formMessage } from "../components/form_message";
import { roleName } from "../components/role_name";
import { messageOf, Skeleton } from "../components/states";
import { isolate } from "../isolate";
import { follow, go } from "../state/address";
import { formatInstant } from "../state/format";
import { localZone } from "../state/time_zones";
import { moreTexts } from "../texts.more";
import type { Me, Schemas } from "../types";

const t = moreTexts.invitation;

export default function AcceptInvitation() {
  const token = useToken();
  const { value, error } = useLoaded(token || null, async (signal) => {
    const [ways, invitation, signedIn] = await Promise.all([
      fetchJson<Schemas["SignInWays"]>("/v1/sign-in", { signal }), submitForm<Schemas["InvitationResponse"]>("/v1/invitations/open", { token }), readMe(),
    ]);
    return { ways, invitation: invitation.data, signedIn };
  });
  return (
    <AlonePage after={<a href="/sign-in" onClick={follow}>{moreTexts.signIn.toSignIn}</a>}>
      <section class="card form" aria-labelledby="invitation">
        <h1 id="invitation">{value ? t.title(isolate(value.invitation.organization)) : t.plainTitle}</h1>
        {!token ? <p>{t.noToken}</p>
          : error ? <p class="error" role="alert">{error.status === 401 ? t.ended : messageOf(error)}</p>
            : value ? <Accept token={token} {...value} /> : <Skeleton lines={5} />}
      </section>
    </AlonePage>
  );
}

function Accept({ token, ways: { password, oidc }, invitation, signedIn }: {
  token: string;
  ways: Schemas["SignInWays"];
  invitation: Schemas["Invitation"];
  /** Who is signed in in this browser. */
  signedIn: Me | null;
}) {
  const { email, organization, role, websites, invitedBy, expires } = invitation;
  const access = [...(role ? [`${moreTexts.people.reaches.all}: ${roleName(role)}`] : []), ...websites.map((one) => `${isolate(one.name)}: ${roleName(one.role)}`)];
  const other = signedIn && signedIn.person?.email !== email ? nameOf(signedIn) : "";
  return (
    <>
      <p>{t.whatItIs(isolate(organization))}</p>
      {other && <p class="notice">{t.signedIn(isolate(other), isolate(email))}</p>}
      <Facts strip facts={[
        [moreTexts.people.access, access.map((line) => <div key={line}>{line}</div>)],
        [t.invitedBy, isolate(invitedBy)],
        [t.expires, formatInstant(expires, localZone())],
      ]} />
      {password && <PasswordForm token={token} invitation={invitation} />}
      {oidc && <a class="button" href={oidc.url}>{moreTexts.signIn.byProvider(oidc.name)}</a>}
    </>
  );
}

/** The person; of a key, which may have no name, the organization. */
const nameOf = ({ person, key, organization }: Me): string => person?.name || person?.email || key?.name || organization?.name || "";

function PasswordForm({ token, invitation: { email, name: invitedName, hasAccount } }: { token: string; invitation: Schemas["Invitation"] }) {
  const [name, setName] = useState(invitedName);
  const [password, setPassword] = useState("");
  const [code, setCode] = useState<string | null>(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const refused = (problem: RequestError): string => {
    if (problem.code !== "SECOND_FACTOR_REQUIRED") {
      if (problem.status === 401) return hasAccount ? t.wrongPassword : t.ended;
      return formMessage(problem, { password: moreTexts.signIn.password, name: moreTexts.people.name });
    }
    setCode(code ?? "");
    return code ? moreTexts.signIn.wrongCode : "";
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      const body = { token, password, name: name.trim(), ...(code ? { code: code.trim() } : {}) };
      enter(await submitForm<Me>("/v1/invitations/accept", body));
      go("/", { replace: true });
    } catch (problem) {
      setError(refused(problem as RequestError));
      setBusy(false);
    }
  };
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      <p class="quiet">{hasAccount ? t.hasAccount : t.newAccount}</p>
      <Field name="email" type="email" label={moreTexts.signIn.email} autocomplete="username" value={email} readOnly />
      {!hasAccount && <Field name="name" label={moreTexts.people.name} autocomplete="name" value={name} change={setName} optional autofocus={!invitedName} />}
      {hasAccount
        ? <Field name="password" type="password" label={moreTexts.signIn.password} autocomplete="current-password" value={password} change={setPassword} autofocus />
        : <NewPasswordField value={password} change={setPassword} isFirst autofocus={Boolean(invitedName)} />}
      {code !== null && <SecondFactorField value={code} change={setCode} />}
      {error && <p class="error" role="alert">{error}</p>}
      <button type="submit" class="button primary" disabled={busy}>{t.accept}</button>
    </form>
  );
}
