// Name and password of the account.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { loadSession, me } from "../../api/session";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Field, NewPasswordField } from "../account_fields";
import { Card } from "../card";
import { roleName } from "../role_name";
import { useForm } from "../use_form";

type Account = Schemas["AccountResource"];
const t = moreTexts.account;
const change = (body: object) => fetchJson("/v1/account", { method: "PATCH", body });

export function Profile({ account, changed }: { account: Account; changed: () => void }) {
  const [name, setName] = useState(account.name);
  const { error, busy, done, submit } = useForm();
  const save = async () => {
    await change({ name: name.trim() });
    changed();
    await loadSession();
  };
  return (
    <Card title={t.profile}>
      <form class="form account-form" onSubmit={submit(save)}>
        <Field name="email" type="email" label={moreTexts.signIn.email} autocomplete="username" value={account.email} readOnly />
        <Field name="name" label={moreTexts.people.name} autocomplete="name" value={name} change={setName} optional />
        {me.value?.person && <p>{t.role}: {roleName(me.value.person.role)}</p>}
        {error && <p class="error" role="alert">{error}</p>}
        {done && <p role="status">{t.saved}</p>}
        <footer><button type="submit" class="button primary" disabled={busy}>{moreTexts.setup.save}</button></footer>
      </form>
    </Card>
  );
}

export function Password({ account, changed }: { account: Account; changed: () => void }) {
  const [current, setCurrent] = useState("");
  const [chosen, setChosen] = useState("");
  const { error, busy, done, submit } = useForm({ currentPassword: t.currentPassword, newPassword: account.hasPassword ? moreTexts.signIn.newPassword : moreTexts.signIn.password });
  const save = async () => {
    await change({ newPassword: chosen, ...(account.hasPassword ? { currentPassword: current } : {}) });
    setCurrent("");
    setChosen("");
    changed();
  };
  return (
    <Card title={moreTexts.signIn.password}>
      <p class="quiet card-text">{account.hasPassword ? t.passwordHint : t.noPassword}</p>
      <form class="form account-form" onSubmit={submit(save)}>
        {account.hasPassword && (
          <Field name="current-password" type="password" label={t.currentPassword} autocomplete="current-password" value={current} change={setCurrent} />)}
        <NewPasswordField value={chosen} change={setChosen} isFirst={!account.hasPassword} />
        {error && <p class="error" role="alert">{error}</p>}
        {done && <p role="status">{t.passwordSaved}</p>}
        <footer><button type="submit" class="button primary" disabled={busy}>{t.changePassword}</button></footer>
      </form>
    </Card>
  );
}
