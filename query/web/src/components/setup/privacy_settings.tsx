// What a website stores about its visitors, as a list with a form.
import { useState } from "preact/hooks";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { Facts } from "../facts";
import { FormDialog, type Input, splitLines } from "./form_dialog";

const t = moreTexts.setup.privacyOf;
const MASK = "mask";

const choice = <Value extends string>(name: string, label: string, words: Record<Value, string>, value: Value): Input =>
  ({ name, label, value, choices: (Object.keys(words) as Value[]).map((each) => ({ value: each, label: words[each] })) });

export function PrivacyCard({ path, privacy, mayChange, done }: {
  /** Of the website. */
  path: string;
  privacy: Schemas["Privacy"];
  mayChange: boolean;
  done: () => void;
}) {
  const [editing, setEditing] = useState(false);
  const inputs: Input[] = [
    choice("doNotTrack", t.doNotTrack, t.signals, privacy.doNotTrack),
    choice("globalPrivacyControl", t.globalPrivacyControl, t.signals, privacy.globalPrivacyControl),
    choice("consent", t.consent, t.consents, privacy.consent),
    choice("location", t.location, t.locations, privacy.location),
    { name: "neverStoreProperties", label: t.properties, help: t.onePerLine, value: privacy.neverStoreProperties.join("\n"), lines: true, placeholder: "email\ncard_*" },
    { name: "neverStoreQuery", label: t.query, help: t.onePerLine, value: privacy.neverStoreQuery.join("\n"), lines: true, placeholder: "token\nsess*" },
    { name: "maskTexts", label: t.texts, value: privacy.maskTexts ? MASK : "", several: [{ value: MASK, label: t.masked }] },
  ];
  return (
    <Card title={t.title} actions={mayChange && <button type="button" class="button" onClick={() => setEditing(true)}>{moreTexts.setup.edit}</button>}>
      <Facts facts={[
        [t.doNotTrack, t.signals[privacy.doNotTrack]],
        [t.globalPrivacyControl, t.signals[privacy.globalPrivacyControl]],
        [t.consent, t.consents[privacy.consent]],
        [t.location, t.locations[privacy.location]],
        [t.properties, privacy.neverStoreProperties.join(", ") || "–"],
        [t.query, privacy.neverStoreQuery.join(", ") || "–"],
        [t.texts, privacy.maskTexts ? t.masked : t.unmasked],
      ]} />
      <p class="quiet card-note">{t.scriptNote}</p>
      {editing && (
        <FormDialog<Schemas["WebsiteResponse"]> title={t.title} method="PATCH" path={path} inputs={inputs} close={() => setEditing(false)}
          body={({ neverStoreProperties = "", neverStoreQuery = "", maskTexts, ...chosen }) => ({
            privacy: {
              ...chosen, neverStoreProperties: splitLines(neverStoreProperties), neverStoreQuery: splitLines(neverStoreQuery), maskTexts: maskTexts === MASK,
            },
          })}
          done={() => { setEditing(false); done(); }} />
      )}
    </Card>
  );
}
