// Sign-in by API key, or by a link that `make run` printed.
import { useEffect, useState } from "preact/hooks";
import { RequestError } from "../api/request";
import { messageOf } from "../components/states";
import { address, go } from "../app/address";
import { may, me, sessionEnded, signIn } from "../app/session";
import icon from "../icon.svg";
import { texts } from "../texts";

const t = texts.signIn;

export function SignIn() {
  const [key, setKey] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const attempt = async (body: { key: string } | { token: string }) => {
    setBusy(true);
    setError("");
    try {
      await signIn(body);
      if (!may("read:data")) setError(t.noScope);
      if (address.value.base === "sign-in") go(`/${me.value!.websites[0]?.id ?? ""}`, { replace: true });
    } catch (problem) {
      const { status } = problem as RequestError;
      const wrong = "key" in body ? t.wrong : t.usedLink;
      setError(status === 401 ? wrong : messageOf(problem as RequestError));
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    const token = location.hash.slice(1);
    if (address.value.base !== "sign-in" || !token) return;
    history.replaceState(null, "", "/sign-in"); // the token works once; it does not stay in the address
    void attempt({ token });
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    void attempt({ key: key.trim() });
  };
  return (
    <main class="alone">
      <form class="card form" onSubmit={submit}>
        <h1><img src={icon} alt="" width="28" height="28" />{texts.app.name}</h1>
        {sessionEnded.value && <p class="notice">{t.ended}</p>}
        <label>{t.key}
          <input type="password" name="key" autocomplete="off" spellcheck={false} required autofocus value={key}
            onInput={(event) => setKey(event.currentTarget.value)} />
        </label>
        <p class="quiet">{t.hint} <a href="/docs">{t.docs}</a></p>
        {error && <p class="error" role="alert">{error}</p>}
        <button type="submit" class="button primary" disabled={busy}>{t.submit}</button>
      </form>
    </main>
  );
}
