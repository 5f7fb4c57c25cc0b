// "Forgot your password?": asks for a link by mail, or says who has one where the service sends no mail.
import { useState } from "preact/hooks";
import { fetchJson, type RequestError, submitForm } from "../api/request";
import { useLoaded } from "../api/use";
import { Field } from "../components/account_fields";
import { AlonePage } from "../components/alone_page";
import { Async, messageOf } from "../components/states";
import { follow } from "../state/address";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";

const t = moreTexts.signIn;

export default function ResetPassword() {
  const ways = useLoaded("sign-in", (signal) => fetchJson<Schemas["SignInWays"]>("/v1/sign-in", { signal }));
  return (
    <AlonePage after={<a href="/sign-in" onClick={follow}>{t.toSignIn}</a>}>
      <section class="card form" aria-labelledby="reset">
        <h1 id="reset">{t.forgot}</h1>
        <Async loaded={ways} lines={3}>{({ mail }) => (mail ? <MailForm /> : <NoMail />)}</Async>
      </section>
    </AlonePage>
  );
}

function MailForm() {
  const [email, setEmail] = useState("");
  const [sent, setSent] = useState(false);
  const [error, setError] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    setError("");
    submitForm("/v1/sign-in/reset", { email: email.trim() })
      .then(() => setSent(true), (problem) => setError(messageOf(problem as RequestError)));
  };
  if (sent) return <p role="status">{t.resetSent}</p>;
  return (
    <form class="form" onSubmit={submit}>
      <p>{t.resetHint}</p>
      <Field name="email" type="email" label={t.email} autocomplete="username" value={email} change={setEmail} autofocus />
      {error && <p class="error" role="alert">{error}</p>}
      <button type="submit" class="button primary">{t.resetSubmit}</button>
    </form>
  );
}

const NoMail = () => <p>{t.resetNoMail} <code>tidemark people reset-password EMAIL</code></p>;
