// Who is told by an alert or a report: the inputs of a form.
import { useState } from "preact/hooks";
import { me } from "../api/session";
import { addressesIn } from "../state/alert_rules";
import { moreTexts } from "../texts.more";
import { Icon } from "./icon";
import { isTold, kindText, useChannels } from "./saved_channels";

const t = moreTexts.alerts;

interface Told {
  /** As they are typed. */
  recipients: string;
  /** Ids. */
  channels: string[];
}

export function ToldFields({ recipients, channels, hint, change }: Told & {
  /** What channels get. */
  hint?: string;
  change: (part: Partial<Told>) => void;
}) {
  const all = useChannels();
  const [before] = useState(channels);
  const deleted = all.value ? before.filter((id) => !all.value!.some((channel) => channel.id === id)) : [];
  const toggle = (id: string, isChosen: boolean) => change({ channels: [...channels.filter((each) => each !== id), ...(isChosen ? [id] : [])] });
  return (
    <>
      <label>{t.recipients}
        <input name="recipients" inputMode="email" autocomplete="off" spellcheck={false} value={recipients} onInput={(e) => change({ recipients: e.currentTarget.value })} />
        <small>{t.recipientsHint}</small>
      </label>
      <MailNote />
      <fieldset>
        <legend>{t.channels}</legend>
        {[...(all.value ?? []), ...deleted.map((id) => ({ id, name: moreTexts.channels.deleted, kind: null }))].map(({ id, name, kind }) => (
          <label key={id} class="check">
            <input type="checkbox" name="channels" value={id} checked={channels.includes(id)} onChange={(e) => toggle(id, e.currentTarget.checked)} />
            {name} {kind && <small class="quiet">{kindText(kind)}</small>}
          </label>
        ))}
        {all.value?.length === 0 ? <small class="quiet">{t.noChannels}</small> : hint && <small class="quiet">{hint}</small>}
      </fieldset>
      {!isTold({ recipients: addressesIn(recipients), channels }, all.value) && <NobodyTold />}
    </>
  );
}

/** Of an alert or a report without a recipient. */
export const NobodyTold = () => <p class="alert-state problem"><Icon name="triangle-alert" size={14} />{t.nobodyTold}</p>;

/** Where no mail can be sent. */
export const MailNote = () => (me.value && !me.value.mail ? <p class="quiet mail-note"><Icon name="info" size={14} />{t.noMail}</p> : null);
