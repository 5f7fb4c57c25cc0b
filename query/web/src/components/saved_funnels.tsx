// Saved funnels: the list of them, and saving, renaming and deleting one.
import { useRef, useState } from "preact/hooks";
import { fetchAll } from "../api/pages";
import { fetchJson, type RequestError } from "../api/request";
import { isShared, mayWriteRecords, subjectQuery } from "../api/session";
import { type Loaded, useLoaded } from "../api/use";
import { address, addressWith, follow } from "../state/address";
import { differs, type FunnelOptions, type SavedFunnel, savedBody } from "../state/funnel";
import { stepOf } from "../state/steps";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";
import { ConfirmDialog } from "./confirm_dialog";
import { Dialog } from "./dialog";
import { FormFooter } from "./form_footer";
import { formMessage } from "./form_message";
import { Icon } from "./icon";
import { Popover } from "./popover";
import { Failed, messageOf } from "./states";

const t = moreTexts.funnels;
const PATH = "/v1/funnels";
type Answer = Schemas["FunnelResponse"];

/** All of the website, by name. */
export function useFunnels(): Loaded<SavedFunnel[]> {
  const query = subjectQuery.value;
  return useLoaded(isShared() ? null : `funnels ${JSON.stringify(query)}`, async (signal) =>
    (await fetchAll<SavedFunnel>(PATH, query, signal)).sort((a, b) => a.name.localeCompare(b.name)));
}

const stepsText = ({ steps }: SavedFunnel): string =>
  steps.map((step) => step.label ?? stepOf(step).value).join(" → ");

export function FunnelActions({ list, saved, options, changed, discard }: {
  list: Loaded<SavedFunnel[]>;
  /** The one that is open. */
  saved: SavedFunnel | null;
  /** What is shown now; with fewer than two steps there is nothing to save. */
  options: FunnelOptions;
  /** Called with what the service has stored; null when it was deleted. */
  changed: (funnel: SavedFunnel | null) => void;
  discard: () => void;
}) {
  const [open, setOpen] = useState<"save" | "rename" | "delete" | null>(null);
  const [error, setError] = useState("");
  const [saving, setSaving] = useState(false);
  const latest = useRef(options);
  latest.current = options;
  const close = () => setOpen(null);
  const body = savedBody(options) as Schemas["NewFunnel"];
  const complete = options.steps.length > 1;
  const edited = saved !== null && differs(options, saved);
  const store = async (name: string) => {
    const { data } = await fetchJson<Answer>(PATH, { query: subjectQuery.value, body: { ...body, name } });
    changed(data);
  };
  const update = async (changes: Schemas["FunnelChanges"]) => {
    const { data } = await fetchJson<Answer>(`${PATH}/${saved!.id}`, { method: "PATCH", body: changes });
    changed(data);
    return data;
  };
  const saveChanges = async () => {
    setError("");
    setSaving(true);
    try {
      const stored = await update(body);
      if (!differs(latest.current, stored)) discard(); // else it was changed meanwhile
    } catch (problem) {
      setError(messageOf(problem as RequestError));
    } finally {
      setSaving(false);
    }
  };
  const remove = async () => {
    await fetchJson(`${PATH}/${saved!.id}`, { method: "DELETE" });
    changed(null);
  };
  return (
    <span class="funnel-actions">
      {error && <span class="error" role="alert">{error}</span>}
      <Popover label={<>{t.saved}<Icon name="chevron-down" size={14} /></>} className="button">
        {(closeMenu) => <FunnelMenu list={list} close={closeMenu} />}
      </Popover>
      {edited && <button type="button" class="quiet-button" onClick={discard}>{t.discard}</button>}
      {mayWriteRecords() && (
        <>
          {edited && complete && <button type="button" class="button primary" disabled={saving} onClick={() => void saveChanges()}>{t.save}</button>}
          {complete && <button type="button" class="button" onClick={() => setOpen("save")}>{saved ? t.saveAs : t.saveNew}</button>}
          {saved && <button type="button" class="quiet-button" onClick={() => setOpen("rename")}>{t.rename}</button>}
          {saved && <button type="button" class="quiet-button" onClick={() => setOpen("delete")}>{t.delete}</button>}
        </>
      )}
      {open === "save" && <NameDialog title={t.saveTitle} name="" submit={store} close={close} />}
      {open === "rename" && <NameDialog title={t.renameTitle} name={saved!.name} submit={async (name) => void await update({ name })} close={close} />}
      {open === "delete" && (
        <ConfirmDialog title={t.deleteTitle} text={t.confirmDelete(saved!.name)} action={t.deleteAction} run={remove} close={close} />
      )}
    </span>
  );
}

function FunnelMenu({ list, close }: { list: Loaded<SavedFunnel[]>; close: () => void }) {
  const { item } = address.value;
  const opened = (event: MouseEvent) => {
    close();
    follow(event);
  };
  return (
    <>
      {list.error && <Failed error={list.error} />}
      {list.value?.length === 0 && <p class="quiet">{t.noneSaved}</p>}
      {!list.loading && list.value?.map((funnel) => (
        <a key={funnel.id} class="menu-item" href={addressWith({ item: funnel.id, own: {} })} onClick={opened}
          aria-current={funnel.id === item ? "page" : undefined}>
          {funnel.name}<small>{stepsText(funnel)}</small>
        </a>
      ))}
      {item && <a class="menu-item" href={addressWith({ item: "", own: {} })} onClick={opened}><Icon name="plus" />{t.newOne}</a>}
    </>
  );
}

function NameDialog({ title, name, submit, close }: {
  title: string;
  name: string;
  submit: (name: string) => Promise<void>;
  close: () => void;
}) {
  const [text, setText] = useState(name);
  const [error, setError] = useState("");
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      await submit(text);
      close();
    } catch (problem) {
      setError(formMessage(problem, { name: t.nameOfOne }));
    }
  };
  return (
    <Dialog title={title} close={close}>
      <form class="form" onSubmit={(event) => void save(event)}>
        <label>{t.nameOfOne}<input name="name" required maxLength={255} value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>
        <p class="quiet">{t.saveHint}</p>
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={t.save} close={close} />
      </form>
    </Dialog>
  );
}
