// Opens a shared dashboard by its link, and asks for its password if it has one.
import { useEffect, useState } from "preact/hooks";
import { RequestError } from "../api/request";
import { openShare } from "../api/session";
import { AlonePage } from "../components/alone_page";
import { Failed, messageOf, Skeleton } from "../components/states";
import { moreTexts } from "../texts.more";

const t = moreTexts.shares;

export default function OpenShare() {
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
  if (error.status === 404) return <NotOpened title={t.gone} why={t.goneWhy} next={t.goneNext} />;
  if (error.status === 400 && !tried) return <NotOpened title={t.invalid} why={t.invalidWhy} next={t.invalidNext} />;
  if (error.status !== 401 && !tried) {
    return <AlonePage><section class="card"><Failed error={error} retry={() => void attempt()} /></section></AlonePage>;
  }
  return (
    <AlonePage>
      <form class="card form" onSubmit={submit}>
        <h1>{t.locked}</h1>
        <label>{t.passwordOnly}
          <input type="password" name="password" autocomplete="off" required autofocus value={password}
            onInput={(event) => setPassword(event.currentTarget.value)} />
        </label>
        {(tried || error.status !== 401) && <p class="error" role="alert">{error.status === 401 ? error.message : messageOf(error)}</p>}
        <button type="submit" class="button primary">{t.open}</button>
      </form>
    </AlonePage>
  );
}

/** In place of a dashboard that its link does not open: why, and what to do next. */
function NotOpened({ title, why, next }: { title: string; why: string; next: string }) {
  return (
    <AlonePage>
      <section class="card form not-opened" aria-labelledby="not-opened">
        <h1 id="not-opened">{title}</h1>
        <p>{why}</p>
        <p>{next}</p>
      </section>
    </AlonePage>
  );
}
