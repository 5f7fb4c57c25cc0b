// The second factor: a code of an app, set up in three steps, and recovery codes that are shown once.
import { useEffect, useState } from "preact/hooks";
import { fetchJson, submitForm } from "../../api/request";
import { showsRecoveryCodes } from "../../api/session";
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

/** What is done with a code. */
type Action = "remove" | "replace" | "renew";

/** `changed` is called once the recovery codes were kept, or after the factor was removed. */
export function SecondFactor({ account, changed }: { account: Schemas["AccountResource"]; changed: () => void }) {
  const [asked, setAsked] = useState<Action | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const show = (made: string[] | null) => {
    showsRecoveryCodes.value = made !== null;
    setCodes(made);
  };
  const finish = () => {
    show(null);
    changed();
  };
  if (codes) return <Card title={t.title}><RecoveryCodes codes={codes} done={finish} /></Card>;
  if (!account.secondFactor) return <Card title={t.title}><Enrolment account={account} confirmed={show} /></Card>;
  const done = (made: string[] | null) => {
    setAsked(null);
    if (made) show(made);
    else changed();
  };
  return (
    <Card title={t.title}>
      <p class="card-text"><Icon name="circle-check" /> {t.on(account.recoveryCodes)} {account.secondFactorRequired && t.required}</p>
      <p class="actions">
        <button type="button" class="button" onClick={() => setAsked("renew")}>{t.actions.renew.title} …</button>
        {account.secondFactorRequired ? <button type="button" class="button" onClick={() => setAsked("replace")}>{t.actions.replace.title} …</button>
          : <button type="button" class="button danger" onClick={() => setAsked("remove")}>{t.actions.remove.title} …</button>}
      </p>
      {asked && <WithCode action={asked} close={() => setAsked(null)} done={done} />}
    </Card>
  );
}

function Enrolment({ account, confirmed }: { account: Schemas["AccountResource"]; confirmed: (recoveryCodes: string[]) => void }) {
  const [password, setPassword] = useState("");
  const [made, setMade] = useState<Schemas["Enrolment"] | null>(null);
  const [code, setCode] = useState("");
  const begin = useForm({ password: moreTexts.signIn.password });
  const confirm = useForm({ code: moreTexts.signIn.code });
  if (made) {
    const send = async () => {
      const { data } = await fetchJson<Schemas["RecoveryCodesResponse"]>(PATH, { method: "PUT", body: { code: code.trim() } });
      confirmed(data.recoveryCodes);
    };
    return (
      <form class="form account-form" onSubmit={confirm.submit(send)}>
        <p>{t.scan}</p>
        <img class="second-factor-qr" src={made.qr} alt={t.qr} width="200" height="200" />
        <p class="quiet">{t.byHand} <Copyable text={made.secret}>{inFours(made.secret)}</Copyable></p>
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

/** A secret is typed in groups of four; it is copied without blanks. */
const inFours = (secret: string) => (secret.match(/.{1,4}/g) ?? []).map((four, at) => <span key={at} class="four">{four}</span>);

function RecoveryCodes({ codes, done }: { codes: string[]; done: () => void }) {
  const text = codes.join("\n");
  useEffect(() => {
    addEventListener("beforeunload", holdBack);
    return () => removeEventListener("beforeunload", holdBack);
  }, []);
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

/** The browser asks before it leaves the page. */
const holdBack = (event: Event) => event.preventDefault();

/** Asks for a code, and does it; new recovery codes are handed to `done`. */
function WithCode({ action, close, done }: { action: Action; close: () => void; done: (recoveryCodes: string[] | null) => void }) {
  const [code, setCode] = useState("");
  const { error, busy, submit } = useForm({ code: moreTexts.signIn.code });
  const { title, text } = t.actions[action];
  const send = async () => {
    const body = { code: code.trim() };
    if (action === "renew") done((await submitForm<Schemas["RecoveryCodesResponse"]>(`${PATH}/recovery-codes`, body)).data.recoveryCodes);
    else {
      await submitForm(PATH, body, "DELETE");
      done(null);
    }
  };
  return (
    <Dialog title={title} close={close}>
      <form class="form" onSubmit={submit(send)}>
        <p>{text}</p>
        <SecondFactorField value={code} change={setCode} />
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={title} close={close} kind={action === "remove" ? "danger" : "primary"} busy={busy} />
      </form>
    </Dialog>
  );
}
