// Sign-in by API key, or by a link that `make run` printed; one that would replace a sign-in is asked about first.
import { useEffect, useState } from "preact/hooks";
import { RequestError } from "../api/request";
import { ALL, loadSession, may, me, sessionEnded, signIn } from "../api/session";
import { AlonePage } from "../components/alone_page";
import { messageOf } from "../components/states";
import { isolate } from "../isolate";
import { address, go } from "../state/address";
import { moreTexts } from "../texts.more";

const t = moreTexts.signIn;

/** The only website, or all of them. */
const start = (): string => {
  const { websites = [] } = me.value ?? {};
  return `/${websites.length > 1 ? `${ALL}/websites` : websites[0]?.id ?? ""}`;
};

export default function SignIn() {
  const [token, setToken] = useState("");
  const [key, setKey] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const attempt = async (body: { key: string } | { token: string }) => {
    setBusy(true);
    setError("");
    try {
      await signIn(body);
      if (!may("read:data")) setError(t.noScope);
      if (address.value.base === "sign-in") go(start(), { replace: true });
    } catch (problem) {
      setToken("");
      const { status } = problem as RequestError;
      const wrong = "key" in body ? t.wrong : t.usedLink;
      setError(status === 401 ? wrong : messageOf(problem as RequestError));
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    const given = location.hash.slice(1);
    if (address.value.base !== "sign-in" || !given) return;
    history.replaceState(null, "", "/sign-in"); // the token works once; it does not stay in the address
    const decide = () => (me.value ? setToken(given) : void attempt({ token: given }));
    loadSession().then(decide, (problem) => setError(messageOf(problem as RequestError)));
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    void attempt({ key: key.trim() });
  };
  if (token) return <Replace busy={busy} replace={() => void attempt({ token })} />;
  return (
    <AlonePage after={<a href="/docs">{t.docs}</a>}>
      <form class="card form" onSubmit={submit}>
        <h1>{t.title}</h1>
        {sessionEnded.value && <p class="notice">{t.ended}</p>}
        <label>{t.key}
          <input type="password" name="key" autocomplete="off" spellcheck={false} required autofocus value={key}
            onInput={(event) => setKey(event.currentTarget.value)} />
          <small>{t.hint} <code>{t.command}</code></small>
        </label>
        {error && <p class="error" role="alert">{error}</p>}
        <button type="submit" class="button primary" disabled={busy}>{t.submit}</button>
      </form>
    </AlonePage>
  );
}

/** Asks before a link replaces the sign-in that there is. */
function Replace({ busy, replace }: { busy: boolean; replace: () => void }) {
  const { organization, key } = me.value!;
  const who = [organization?.name, key?.name].filter(Boolean).join(", ");
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
