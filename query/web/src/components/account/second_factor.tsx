// The second factor: a code of an app, set up in three steps, and recovery codes that are shown once.
import { useState } from "preact/hooks";
import { fetchJson, submitForm } from "../../api/request";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Field, SecondFactorField } from "../account_fields";
import { Card } from "../card";
import { Copyable } from "../copy";
import { Dialog } from "../dialog";
import { save } from "../download";
import { FormFooter } from "../form_footer";
import { Icon } from "../icon";
import { Snippet } from "../request_dialog";
import { useForm } from "../use_form";

const t = moreTexts.account.secondFactor;
const PATH = "/v1/account/second-factor";

/** `changed` is called once the recovery codes were kept, or after the factor was removed. */
export function SecondFactor({ account, changed }: { account: Schemas["AccountResource"]; changed: () => void }) {
  const [isRemoving, setRemoving] = useState(false);
  if (!account.secondFactor) return <Card title={t.title}><Enrolment account={account} done={changed} /></Card>;
  return (
    <Card title={t.title}>
      <p class="card-text"><Icon name="circle-check" /> {t.on(account.recoveryCodes)}</p>
      {account.secondFactorRequired ? <p class="quiet">{t.required}</p>
        : <button type="button" class="button danger" onClick={() => setRemoving(true)}>{t.remove} …</button>}
      {isRemoving && <Removal close={() => setRemoving(false)} removed={() => { setRemoving(false); changed(); }} />}
    </Card>
  );
}

function Enrolment({ account, done }: { account: Schemas["AccountResource"]; done: () => void }) {
  const [password, setPassword] = useState("");
  const [made, setMade] = useState<Schemas["Enrolment"] | null>(null);
  const [code, setCode] = useState("");
  const [recoveryCodes, setRecoveryCodes] = useState<string[] | null>(null);
  const begin = useForm({ password: moreTexts.signIn.password });
  const confirm = useForm({ code: moreTexts.signIn.code });
  if (recoveryCodes) return <RecoveryCodes codes={recoveryCodes} done={done} />;
  if (made) {
    const send = async () => {
      const { data } = await fetchJson<Schemas["RecoveryCodesResponse"]>(PATH, { method: "PUT", body: { code: code.trim() } });
      setRecoveryCodes(data.recoveryCodes);
    };
    return (
      <form class="form account-form" onSubmit={confirm.submit(send)}>
        <p>{t.scan}</p>
        <img class="second-factor-qr" src={made.qr} alt={t.qr} width="200" height="200" />
        <p class="quiet">{t.byHand} <Copyable text={made.secret} /></p>
        <SecondFactorField value={code} change={setCode} appOnly />
        {confirm.error && <p class="error" role="alert">{confirm.error}</p>}
        <footer><button type="submit" class="button primary" disabled={confirm.busy}>{t.confirm}</button></footer>
      </form>
    );
  }
  const start = async () => {
    const body = account.hasPassword ? { password } : {};
    setMade((await fetchJson<Schemas["EnrolmentResponse"]>(PATH, { body })).data);
  };
  return (
    <form class="form account-form" onSubmit={begin.submit(start)}>
      <p>{t.hint}</p>
      {account.hasPassword && (
        <Field name="password" type="password" label={moreTexts.signIn.password} autocomplete="current-password" value={password} change={setPassword} />)}
      {begin.error && <p class="error" role="alert">{begin.error}</p>}
      <footer><button type="submit" class="button primary" disabled={begin.busy}>{t.begin}</button></footer>
    </form>
  );
}

function RecoveryCodes({ codes, done }: { codes: string[]; done: () => void }) {
  const text = codes.join("\n");
  return (
    <div class="recovery-codes">
      <p class="notice" role="status">{t.active}</p>
      <Snippet label={t.recoveryCodes} text={text} />
      <p class="actions">
        <button type="button" class="button" onClick={() => save(new Blob([`${text}\n`], { type: "text/plain" }), "tidemark-recovery-codes.txt")}>
          <Icon name="download" />{t.download}
        </button>
        <button type="button" class="button primary" onClick={done}>{t.kept}</button>
      </p>
    </div>
  );
}

/** Asks for a code before the factor is removed. */
function Removal({ close, removed }: { close: () => void; removed: () => void }) {
  const [code, setCode] = useState("");
  const { error, busy, submit } = useForm({ code: moreTexts.signIn.code });
  const remove = async () => {
    await submitForm(PATH, { code: code.trim() }, "DELETE");
    removed();
  };
  return (
    <Dialog title={t.remove} close={close}>
      <form class="form" onSubmit={submit(remove)}>
        <p>{t.confirmRemove}</p>
        <SecondFactorField value={code} change={setCode} />
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={t.remove} close={close} kind="danger" busy={busy} />
      </form>
    </Dialog>
  );
}
