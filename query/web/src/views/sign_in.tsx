// Sign-in by e-mail and password, by another service, by API key, or by a link that `make run` printed; one that would replace a sign-in is
// asked about first.
import { useEffect, useRef, useState } from "preact/hooks";
import { fetchJson, RequestError } from "../api/request";
import { ALL, loadSession, may, me, sessionEnded, signedOut, signIn } from "../api/session";
import { useLoaded } from "../api/use";
import { AlonePage } from "../components/alone_page";
import { Field, SecondFactorField } from "../components/account_fields";
import { Failed, messageOf, Skeleton } from "../components/states";
import { isolate } from "../isolate";
import { address, follow, go } from "../state/address";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";

const t = moreTexts.signIn;

/** The only website, or all of them. */
const start = (): string => {
  const { websites = [] } = me.value ?? {};
  return `/${websites.length > 1 ? `${ALL}/websites` : websites[0]?.id ?? ""}`;
};

const isSignIn = (): boolean => address.value.base === "sign-in";

/** Signs in; `say` has the words for what went wrong. */
type Attempt = (body: Schemas["SignInBody"], say: (problem: RequestError) => string) => Promise<void>;

export default function SignIn() {
  const [token, setToken] = useState("");
  const [error, setError] = useState(() => problemOf(address.value.own.problem));
  const [busy, setBusy] = useState(false);
  const ways = useLoaded("sign-in", (signal) => fetchJson<Schemas["SignInWays"]>("/v1/sign-in", { signal }));
  const attempt: Attempt = async (body, say) => {
    setBusy(true);
    setError("");
    try {
      await signIn(body);
      if (me.value?.key && !may("read:data")) setError(t.noScope);
      if (isSignIn()) go(start(), { replace: true });
    } catch (problem) {
      setToken("");
      setError(say(problem as RequestError));
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    const given = location.hash.slice(1);
    if (!isSignIn() || !given) return;
    history.replaceState(null, "", "/sign-in"); // the token works once; it does not stay in the address
    const decide = () => (me.value ? setToken(given) : void attempt({ token: given }, unless401(t.usedLink)));
    loadSession().then(decide, (problem) => setError(messageOf(problem as RequestError)));
  }, []);
  const byProxy = () => void attempt({ proxy: true }, (problem) => (problem.status === 403 ? t.noAccess : unless401(t.noProxy)(problem)));
  const tried = useRef(Boolean(location.hash || address.value.own.problem) || signedOut.value);
  useEffect(() => {
    if (!ways.value?.proxy || tried.current) return;
    tried.current = true;
    byProxy();
  }, [ways.value]);
  if (token) return <Replace busy={busy} replace={() => void attempt({ token }, unless401(t.usedLink))} />;
  const { password = false, oidc = null, proxy = false } = ways.value ?? {};
  const hasOther = password || oidc !== null || proxy;
  const keyForm = <KeyForm busy={busy} isOnly={!hasOther} submit={(key) => void attempt({ key }, unless401(t.wrong))} />;
  return (
    <AlonePage after={<a href="/docs">{t.docs}</a>}>
      <section class="card form" aria-labelledby="sign-in">
        <h1 id="sign-in">{t.title}</h1>
        {sessionEnded.value && <p class="notice">{t.ended}</p>}
        {error && <p class="error" role="alert">{error}</p>}
        {ways.error && <Failed error={ways.error} retry={ways.reload} />}
        {!ways.value && !ways.error && <Skeleton lines={4} />}
        {password && <PasswordForm busy={busy} attempt={attempt} />}
        {proxy && <button type="button" class={`button ${password ? "" : "primary"}`} disabled={busy} onClick={byProxy}>{t.byProxy}</button>}
        {oidc && <a class={`button ${password || proxy ? "" : "primary"}`} href={`${oidc.url}?${new URLSearchParams({ to: returnPath() })}`}>{t.byProvider(oidc.name)}</a>}
        {(ways.value || ways.error) && (hasOther ? <details><summary>{t.byKey}</summary>{keyForm}</details> : keyForm)}
      </section>
    </AlonePage>
  );
}

/** The words for a refusal; every other failure has its usual message. */
const unless401 = (text: string) => (problem: RequestError): string => (problem.status === 401 ? text : messageOf(problem));

/** Why the other service, which leads back here, did not sign in. */
const problemOf = (code: string | undefined): string =>
  (!code ? "" : Object.hasOwn(t.problems, code) ? t.problems[code]! : t.problems.other!);

/** Where the sign-in leads to. */
const returnPath = (): string => (isSignIn() ? "/" : location.pathname + location.search);

function PasswordForm({ busy, attempt }: { busy: boolean; attempt: Attempt }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState<string | null>(null);
  const refused = (problem: RequestError): string => {
    if (problem.code !== "SECOND_FACTOR_REQUIRED") return unless401(code === null ? t.wrongPassword : t.wrongCode)(problem);
    setCode(code ?? "");
    return code ? t.wrongCode : "";
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void attempt({ email: email.trim(), password, ...(code ? { code: code.trim() } : {}) }, refused);
  };
  if (code !== null) {
    return (
      <form class="form" onSubmit={submit}>
        <p>{t.codeOf(isolate(email.trim()))}</p>
        <SecondFactorField value={code} change={setCode} />
        <p class="quiet">{t.lostPhone}</p>
        <button type="submit" class="button primary" disabled={busy}>{t.submit}</button>
        <button type="button" class="button" onClick={() => setCode(null)}>{t.back}</button>
      </form>
    );
  }
  return (
    <form class="form" onSubmit={submit}>
      <Field name="email" type="email" label={t.email} autocomplete="username" value={email} change={setEmail} autofocus />
      <Field name="password" type="password" label={t.password} autocomplete="current-password" value={password} change={setPassword} />
      <button type="submit" class="button primary" disabled={busy}>{t.submit}</button>
      <a class="quiet" href="/sign-in/reset" onClick={follow}>{t.forgot}</a>
    </form>
  );
}

function KeyForm({ busy, isOnly, submit }: { busy: boolean; isOnly: boolean; submit: (key: string) => void }) {
  const [key, setKey] = useState("");
  return (
    <form class="form" onSubmit={(event) => { event.preventDefault(); submit(key.trim()); }}>
      <label>{t.key}
        <input type="password" name="key" autocomplete="off" spellcheck={false} required autofocus={isOnly} value={key}
          onInput={(event) => setKey(event.currentTarget.value)} />
        <small>{t.hint} <code>{t.command}</code></small>
      </label>
      <button type="submit" class={`button ${isOnly ? "primary" : ""}`} disabled={busy}>{isOnly ? t.submit : t.submitKey}</button>
    </form>
  );
}

/** Asks before a link replaces the sign-in that there is. */
function Replace({ busy, replace }: { busy: boolean; replace: () => void }) {
  const { organization, key, person } = me.value!;
  const who = [organization?.name, person ? person.name || person.email : key?.name].filter(Boolean).join(", ");
  return (
    <AlonePage>
      <section class="card form replace" aria-labelledby="replace">
        <h1 id="replace">{t.replaceTitle}</h1>
        <p>{t.replace(isolate(who))}</p>
        <footer>
          <button type="button" class="button" autofocus onClick={() => go(start(), { replace: true })}>{t.stay}</button>
          <button type="button" class="button primary" disabled={busy} onClick={replace}>{t.replaceSubmit}</button>
        </footer>
      </section>
    </AlonePage>
  );
}
