// A new password, by the link that was mailed or printed for it.
import { useState } from "preact/hooks";
import { type RequestError, submitForm } from "../api/request";
import { useToken } from "../components/address_token";
import { NewPasswordField } from "../components/account_fields";
import { AlonePage } from "../components/alone_page";
import { formMessage } from "../components/form_message";
import { isolate } from "../isolate";
import { follow } from "../state/address";
import { moreTexts } from "../texts.more";

const t = moreTexts.signIn;

export default function NewPassword() {
  const token = useToken();
  const [password, setPassword] = useState("");
  const [email, setEmail] = useState("");
  const [error, setError] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    setError("");
    submitForm<{ email: string }>("/v1/sign-in/password", { token, password }).then(
      (changed) => setEmail(changed.email),
      (problem: RequestError) => setError(problem.status === 401 ? t.resetEnded : formMessage(problem, { password: t.newPassword })),
    );
  };
  return (
    <AlonePage after={<a href="/sign-in" onClick={follow}>{t.toSignIn}</a>}>
      <section class="card form" aria-labelledby="new-password">
        <h1 id="new-password">{t.newPasswordTitle}</h1>
        {email ? (
          <>
            <p role="status">{t.passwordChanged(isolate(email))}</p>
            <a class="button primary" href="/sign-in" onClick={follow}>{t.title}</a>
          </>
        ) : token ? (
          <form class="form" onSubmit={submit}>
            <NewPasswordField value={password} change={setPassword} autofocus />
            {error && <p class="error" role="alert">{error}</p>}
            <button type="submit" class="button primary">{t.savePassword}</button>
          </form>
        ) : <p>{t.noToken}</p>}
      </section>
    </AlonePage>
  );
}
