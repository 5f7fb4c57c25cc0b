// Opens a shared dashboard by its link, and asks for its password if it has one.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { RequestError } from "../api/request";
import { openShare } from "../app/session";
import { Failed, messageOf, Skeleton } from "../components/states";
import { texts } from "../texts";

const t = texts.shares;

export function OpenShare() {
  const [error, setError] = useState<RequestError | null>(null);
  const [password, setPassword] = useState("");
  const [tried, setTried] = useState(false);
  const attempt = (text?: string) => openShare(text).catch((problem) => {
    setError(problem as RequestError);
    setTried(text !== undefined);
  });
  useEffect(() => void attempt(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    void attempt(password);
  };
  if (!error) return <main class="alone"><Skeleton lines={4} /></main>;
  const alone = (content: ComponentChildren) => <main class="alone"><h1>{texts.app.name}</h1>{content}</main>;
  if (error.status === 404) return alone(<p class="card">{t.gone}</p>);
  if (error.status === 400 && !tried) return alone(<p class="card">{t.invalid}</p>);
  if (error.status !== 401 && !tried) return alone(<Failed error={error} retry={() => void attempt()} />);
  return (
    <main class="alone">
      <form class="card form" onSubmit={submit}>
        <h1>{texts.app.name}</h1>
        <p>{t.locked}</p>
        <label>{t.passwordOnly}
          <input type="password" name="password" autocomplete="off" required autofocus value={password}
            onInput={(event) => setPassword(event.currentTarget.value)} />
        </label>
        {(tried || error.status !== 401) && <p class="error" role="alert">{error.status === 401 ? error.message : messageOf(error)}</p>}
        <button type="submit" class="button primary">{t.open}</button>
      </form>
    </main>
  );
}
