// "Make your account": from the API key that is signed in to the first owner.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { enter } from "../../api/session";
import { moreTexts } from "../../texts.more";
import type { Me } from "../../types";
import { Field, NewPasswordField } from "../account_fields";
import { Card } from "../card";
import { useForm } from "../use_form";

const t = moreTexts.people;

export function FirstOwner({ made }: { made: () => void }) {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const { error, busy, submit } = useForm({ email: moreTexts.signIn.email, name: t.name, password: moreTexts.signIn.password });
  const create = async () => {
    enter(await fetchJson<Me>("/v1/account", { body: { email: email.trim(), password, name: name.trim() } }));
    made();
  };
  return (
    <Card title={t.makeAccount}>
      <p class="quiet card-text">{t.makeAccountHint}</p>
      <form class="form account-form" onSubmit={submit(create)}>
        <Field name="email" type="email" label={moreTexts.signIn.email} autocomplete="username" value={email} change={setEmail} />
        <Field name="name" label={t.name} autocomplete="name" value={name} change={setName} optional />
        <NewPasswordField value={password} change={setPassword} isFirst />
        {error && <p class="error" role="alert">{error}</p>}
        <footer><button type="submit" class="button primary" disabled={busy}>{t.makeAccount}</button></footer>
      </form>
    </Card>
  );
}
