// Channels of the website: addresses of other products that alerts and reports tell.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { may, subjectQuery } from "../../api/session";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Dialog } from "../dialog";
import { FormFooter } from "../form_footer";
import { Icon } from "../icon";
import { Snippet } from "../request_dialog";
import { type Channel, type ChannelKind, kindText, useChannels } from "../saved_channels";
import { Async } from "../states";
import { useForm } from "../use_form";
import { useAction } from "./use_action";

const t = moreTexts.channels;
const PATH = "/v1/channels";

interface Input {
  name: "address" | "token" | "chat";
  label: string;
  help?: string;
  placeholder?: string;
  optional?: boolean;
}
const ADDRESS: Input = { name: "address", label: t.address };
/** What each kind needs. */
const INPUTS: Record<ChannelKind, Input[]> = {
  slack: [{ ...ADDRESS, placeholder: "https://hooks.slack.com/services/…" }],
  teams: [{ ...ADDRESS, placeholder: "https://….logic.azure.com/workflows/…" }],
  discord: [{ ...ADDRESS, placeholder: "https://discord.com/api/webhooks/…" }],
  telegram: [{ name: "token", label: t.bot }, { name: "chat", label: t.chat, help: t.chatHint }],
  ntfy: [{ ...ADDRESS, placeholder: "https://ntfy.sh/…" }, { name: "token", label: t.token, help: t.tokenHint, optional: true }],
  webhook: [{ ...ADDRESS, placeholder: "https://…" }],
};
const KINDS = Object.keys(INPUTS) as ChannelKind[];
const LABELS = { name: t.name, kind: t.kind, address: t.address, token: t.token, chat: t.chat };

export function Channels() {
  const list = useChannels();
  /** Null makes one. */
  const [edited, setEdited] = useState<Channel | null | undefined>(undefined);
  const [created, setCreated] = useState<Channel | null>(null);
  const [asked, setAsked] = useState<Channel | null>(null);
  const action = useAction(() => undefined);
  const writes = may("manage:websites");
  const done = (channel: Channel) => {
    setEdited(undefined);
    if (!edited) setCreated(channel);
    list.reload();
  };
  const test = ({ id, name }: Channel) => action.run(async () => {
    const { data: { delivered, problem } } = await fetchJson<Schemas["ChannelTestResponse"]>(`${PATH}/${id}/test`, { method: "POST" });
    return delivered ? t.delivered(name) : t.notDelivered(name, problem ?? "");
  }, t.testing(name));
  const remove = async ({ id }: Channel) => {
    await fetchJson(`${PATH}/${id}`, { method: "DELETE" });
    if (created?.id === id) setCreated(null);
    list.reload();
  };
  return (
    <Card title={t.title} actions={writes && <button type="button" class="button" onClick={() => setEdited(null)}><Icon name="plus" />{t.create}</button>}>
      <p class="quiet card-text">{t.hint}</p>
      {created?.secret && <div class="new-link" role="status"><p class="notice">{t.secretReady}</p><Snippet label={t.secret} text={created.secret} /></div>}
      {action.note}
      <Async loaded={list} lines={2} empty={t.none} isEmpty={(all) => !all.length}>
        {(all) => (
          <DataTable label={t.title} rows={all} rowKey={({ id }) => id} columns={[
            { key: "name", label: t.name, className: "address", render: ({ name }) => name },
            { key: "kind", label: t.kind, render: ({ kind }) => kindText(kind) },
            { key: "host", extra: true, label: t.host, className: "breakable", render: ({ host }) => host },
            { key: "act", label: "", render: (one) => writes && (
              <span class="row-actions">
                <button type="button" class="quiet-button" aria-label={t.testOne(one.name)} onClick={() => test(one)}>{t.test}</button>
                <button type="button" class="quiet-button" aria-label={t.editOne(one.name)} onClick={() => setEdited(one)}>{t.edit}</button>
                <button type="button" class="quiet-button" aria-label={t.removeOne(one.name)} onClick={() => setAsked(one)}>{t.remove}</button>
              </span>) },
          ]} />
        )}
      </Async>
      {edited !== undefined && <ChannelDialog channel={edited} close={() => setEdited(undefined)} done={done} />}
      {asked && <ConfirmDialog title={t.removeOne(asked.name)} text={t.confirmRemove} action={t.remove} run={() => remove(asked)} close={() => setAsked(null)} />}
    </Card>
  );
}

function ChannelDialog({ channel, close, done }: {
  /** Null makes one. */
  channel: Channel | null;
  close: () => void;
  done: (saved: Channel) => void;
}) {
  const [kind, setKind] = useState((channel?.kind ?? "slack") as ChannelKind);
  const [values, setValues] = useState<Record<string, string>>(channel ? { name: channel.name, chat: channel.chat ?? "" } : {});
  const { error, busy, submit } = useForm(LABELS);
  const set = (name: string, value: string) => setValues((old) => ({ ...old, [name]: value }));
  const send = async () => {
    const given = INPUTS[kind].map(({ name }) => [name, values[name]?.trim()] as const).filter(([, value]) => value);
    const body = { name: values.name, ...(channel ? {} : { kind }), ...Object.fromEntries(given) };
    done((await fetchJson<Schemas["ChannelResponse"]>(channel ? `${PATH}/${channel.id}` : PATH, { method: channel ? "PATCH" : "POST", query: channel ? {} : subjectQuery.value, body })).data);
  };
  return (
    <Dialog title={channel ? t.editOne(channel.name) : t.create} close={close}>
      <form class="form" onSubmit={submit(send)}>
        <label>{t.kind}
          <select name="kind" value={kind} disabled={channel !== null} onChange={(e) => setKind(e.currentTarget.value as ChannelKind)}>
            {KINDS.map((each) => <option key={each} value={each}>{t.kinds[each]}</option>)}
          </select>
          <small>{t.hints[kind]}</small>
        </label>
        <label>{t.name}<input name="name" required maxLength={255} value={values.name ?? ""} onInput={(e) => set("name", e.currentTarget.value)} /></label>
        {INPUTS[kind].map(({ name, label, help, placeholder, optional }) => (
          <label key={name}>{label}
            <input name={name} inputMode={name === "address" ? "url" : undefined} autocomplete="off" spellcheck={false} required={!optional && (!channel || name === "chat")} placeholder={placeholder}
              value={values[name] ?? ""} onInput={(e) => set(name, e.currentTarget.value)} />
            {help && <small>{help}</small>}
            {channel && name !== "chat" && <small>{name === "token" && kind === "ntfy" ? t.unchangedToken : t.unchanged}</small>}
            {name === "address" && /^\s*http:/i.test(values.address ?? "") && <small role="status">{t.plainHttp}</small>}
          </label>
        ))}
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={channel ? moreTexts.setup.save : t.create} close={close} busy={busy} />
      </form>
    </Dialog>
  );
}
