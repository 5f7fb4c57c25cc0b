// Inputs of forms for people: e-mail, password, code of the second factor.
import { useLayoutEffect, useRef } from "preact/hooks";
import { moreTexts } from "../texts.more";

/** Characters of a password at least. */
export const LEAST_PASSWORD = 10;
/** As the service takes passwords; names and addresses may be a little longer there. */
const MOST_CHARACTERS = 200;
const t = moreTexts.signIn;

export function Field({ name, label, value, change, type = "text", autocomplete, help, optional, readOnly, autofocus, least }: {
  name: string;
  label: string;
  value: string;
  change?: (value: string) => void;
  type?: "text" | "email" | "password";
  /** What a password manager fills in. */
  autocomplete: string;
  help?: string;
  optional?: boolean;
  readOnly?: boolean;
  autofocus?: boolean;
  /** Characters at least. */
  least?: number;
}) {
  const input = useFocus(autofocus);
  // Preact has a type for the attributes of each type of input, and none for the three together.
  return (
    <label>{label}
      <input ref={input} name={name} type={type as "text"} autocomplete={autocomplete} required={!optional} readOnly={readOnly} minLength={least} maxLength={MOST_CHARACTERS}
        spellcheck={false} value={value} onInput={(event) => change?.(event.currentTarget.value)} />
      {help && <small>{help}</small>}
    </label>
  );
}

/** An input that has the focus when it is drawn, also on a page that is open: browsers take `autofocus` only of one that is loaded. */
function useFocus(wanted = false) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => void (wanted && input.current?.focus()), []);
  return input;
}

/** A password that is chosen; `isFirst` where there was none before. */
export const NewPasswordField = ({ value, change, isFirst, autofocus }: {
  value: string;
  change: (value: string) => void;
  isFirst?: boolean;
  autofocus?: boolean;
}) => (
  <Field name="new-password" type="password" label={isFirst ? t.password : t.newPassword} autocomplete="new-password" help={t.passwordHelp(LEAST_PASSWORD)} least={LEAST_PASSWORD}
    value={value} change={change} autofocus={autofocus} />
);

/** A code of the app, or one of the recovery codes where those are taken as well. */
export function SecondFactorField({ value, change, appOnly }: { value: string; change: (value: string) => void; appOnly?: boolean }) {
  const input = useFocus(true);
  return (
    <label>{t.code}
      <input ref={input} name="code" required autocomplete="one-time-code" inputMode={appOnly ? "numeric" : undefined} spellcheck={false} maxLength={40}
        value={value} onInput={(event) => change(event.currentTarget.value)} />
      <small>{appOnly ? t.appCodeHelp : t.codeHelp}</small>
    </label>
  );
}
