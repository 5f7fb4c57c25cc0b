// The account of the person who is signed in; while a second factor is needed, its enrolment alone.
import { useEffect } from "preact/hooks";
import { fetchJson } from "../api/request";
import { loadSession, me, showsRecoveryCodes, signOut } from "../api/session";
import { useLoaded } from "../api/use";
import { Organizations } from "../components/account/organizations";
import { PersonalKeys } from "../components/account/personal_keys";
import { Password, Profile } from "../components/account/profile";
import { SecondFactor } from "../components/account/second_factor";
import { Sessions } from "../components/account/sessions";
import { Icon } from "../components/icon";
import { Async, Empty } from "../components/states";
import icon from "../icon.svg";
import { follow } from "../state/address";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";

const t = moreTexts.account;

export default function Account() {
  const { person } = me.value!;
  const needed = person?.secondFactorNeeded ?? false;
  const loaded = useLoaded(person ? `account ${person.id}` : null, async (signal) =>
    (await fetchJson<Schemas["AccountResponse"]>("/v1/account", { signal })).data);
  const title = needed ? t.secondFactor.needed : t.title;
  useEffect(() => void (document.title = `${title} · ${texts.app.name}`), [title]);
  const enrolled = () => {
    loaded.reload();
    void loadSession();
  };
  return (
    <main id="content" class="account" tabIndex={-1}>
      <header class="account-head">
        <a class="brand" href="/" onClick={follow} aria-label={texts.app.name} inert={showsRecoveryCodes.value}><img src={icon} alt="" width="24" height="24" />{texts.app.name}</a>
        <span class="account-actions" hidden={showsRecoveryCodes.value}>
          {!needed && <a class="button" href="/" onClick={follow}><Icon name="arrow-left" />{t.back}</a>}
          <button type="button" class="button" onClick={() => void signOut()}><Icon name="log-out" />{texts.app.signOut}</button>
        </span>
      </header>
      <h1>{title}</h1>
      {needed && <p class="notice">{t.secondFactor.neededHint(me.value!.organization?.name ?? "")}</p>}
      {!person ? <Empty text={t.ofKey} /> : (
        <Async loaded={loaded}>
          {(account) => (
            <>
              {!needed && <Profile account={account} changed={loaded.reload} />}
              {!needed && <Password account={account} changed={loaded.reload} />}
              <SecondFactor account={account} changed={enrolled} />
              {!needed && <Sessions />}
              {!needed && <PersonalKeys />}
              {account.organizations.length > 1 && <Organizations organizations={account.organizations} />}
            </>
          )}
        </Async>
      )}
    </main>
  );
}
