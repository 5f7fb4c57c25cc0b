// Saved explorations: the list of them, and saving, renaming and deleting one.
import { useState } from "preact/hooks";
import { fetchAll } from "../api/pages";
import { fetchJson, type RequestError } from "../api/request";
import { hasRecords, mayWriteRecords, subjectQuery, timezone } from "../api/session";
import { type Loaded, useLoaded } from "../api/use";
import { address, addressWith, follow } from "../state/address";
import { customText, explorationOf } from "../state/exploration_words";
import { formatAgo, formatInstant } from "../state/format";
import { type Known, questionText } from "../state/metric_fields";
import { type Question, questionOf } from "../state/question";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";
import { Card } from "./card";
import { ConfirmDialog } from "./confirm_dialog";
import { Dialog } from "./dialog";
import { filterText } from "./filter_text";
import { FormFooter } from "./form_footer";
import { formMessage } from "./form_message";
import { Icon } from "./icon";
import { AddToBoard } from "./saved_boards";
import { Async, messageOf } from "./states";

const t = moreTexts.explore;
export const EXPLORATIONS_PATH = "/v1/explorations";
type Answer = Schemas["ExplorationResponse"];
export type Saved = Schemas["ExplorationResource"];
/** What is saved beside name and description. */
export type SavedPart = Pick<Schemas["NewExploration"], "metricsQuery" | "customQuery" | "shape">;

/** All of the website, the last changed one first. */
export function useExplorations(): Loaded<Saved[]> {
  const query = subjectQuery.value;
  return useLoaded(hasRecords() ? `explorations ${JSON.stringify(query)}` : null, async (signal) =>
    (await fetchAll<Saved>(EXPLORATIONS_PATH, query, signal)).sort((a, b) => b.updatedAt.localeCompare(a.updatedAt)));
}

/** What is asked, with the filters of the question. */
export const filteredText = (question: Question, known: Pick<Known, "goals">): string =>
  [questionText(question, known), ...question.filters.map(filterText)].join(" · ");

/** What one asks, in words. */
function preview({ metricsQuery, customQuery }: Saved, known: Pick<Known, "goals">): string {
  const question = metricsQuery && questionOf(metricsQuery);
  if (question) return filteredText(question, known);
  const custom = customQuery && explorationOf(customQuery);
  return custom ? customText(custom) : t.madeElsewhere;
}

export function SavedList({ list, known }: { list: Loaded<Saved[]>; known: Pick<Known, "goals"> }) {
  return (
    <Card title={t.savedOnes} className="wide">
      <Async loaded={list} lines={3} isEmpty={(all) => !all.length} empty={t.noneSaved}>
        {(all) => (
          <ul class="saved-list">
            {all.map((saved) => (
              <li key={saved.id}>
                <a href={addressWith({ item: saved.id, own: {} })} onClick={follow}>
                  <Icon name={saved.metricsQuery ? "chart-column" : "table"} />
                  <span><b>{saved.name}</b><small>{saved.description ?? preview(saved, known)}</small>{saved.description && <small>{preview(saved, known)}</small>}</span>
                </a>
                <small class="quiet" title={formatInstant(saved.updatedAt, timezone.value)}>
                  {saved.createdBy ? t.byWhom(saved.createdBy, formatAgo(saved.updatedAt)) : formatAgo(saved.updatedAt)}
                </small>
              </li>
            ))}
          </ul>
        )}
      </Async>
    </Card>
  );
}

export function SavedActions({ saved, part, edited, changed, discard }: {
  /** The one that is open. */
  saved: Saved | null;
  /** What is shown now; null where there is nothing to save. */
  part: SavedPart | null;
  edited: boolean;
  /** Called with what the service has stored, null when it was deleted; and whether that has the filters of the page. */
  changed: (saved: Saved | null, withFilters: boolean) => void;
  discard: () => void;
}) {
  const [open, setOpen] = useState<"save" | "rename" | "delete" | null>(null);
  const [error, setError] = useState("");
  if (!mayWriteRecords() || !hasRecords()) return null;
  const close = () => setOpen(null);
  const store = async (words: Words) => {
    const { data } = await fetchJson<Answer>(EXPLORATIONS_PATH, { query: subjectQuery.value, body: { ...words, ...part } });
    changed(data, true);
  };
  const update = async (changes: Schemas["ExplorationChanges"]) => {
    const { data } = await fetchJson<Answer>(`${EXPLORATIONS_PATH}/${saved!.id}`, { method: "PATCH", body: changes });
    changed(data, "metricsQuery" in changes);
  };
  const saveChanges = () => {
    setError("");
    update(part!).catch((problem) => setError(messageOf(problem as RequestError)));
  };
  const remove = async () => {
    await fetchJson(`${EXPLORATIONS_PATH}/${saved!.id}`, { method: "DELETE" });
    changed(null, false);
  };
  return (
    <>
      {error && <span class="error" role="alert">{error}</span>}
      {saved && edited && <button type="button" class="quiet-button" onClick={discard}>{t.discard}</button>}
      {saved && edited && part && <button type="button" class="button primary" onClick={saveChanges}>{t.saveChanges}</button>}
      {part && <button type="button" class="button" onClick={() => setOpen("save")}><Icon name="bookmark" />{saved ? t.saveAs : t.save}</button>}
      {saved && <AddToBoard key={saved.id} exploration={saved.id} />}
      {saved && <button type="button" class="icon" aria-label={t.rename} title={t.rename} onClick={() => setOpen("rename")}><Icon name="pencil" /></button>}
      {saved && <button type="button" class="icon" aria-label={t.delete} title={t.delete} onClick={() => setOpen("delete")}><Icon name="trash-2" /></button>}
      {open === "save" && <WordsDialog title={t.saveTitle} words={{ name: "", description: null }} submit={store} close={close} />}
      {open === "rename" && <WordsDialog title={t.renameTitle} words={saved!} submit={update} close={close} />}
      {open === "delete" && (
        <ConfirmDialog title={t.deleteTitle} text={t.confirmDelete(saved!.name)} action={t.deleteAction} run={remove} close={close} />
      )}
    </>
  );
}

interface Words {
  name: string;
  description: string | null;
}

function WordsDialog({ title, words, submit, close }: {
  title: string;
  words: Words;
  submit: (words: Words) => Promise<void>;
  close: () => void;
}) {
  const [name, setName] = useState(words.name);
  const [description, setDescription] = useState(words.description ?? "");
  const [error, setError] = useState("");
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      await submit({ name, description: description.trim() || null });
      close();
    } catch (problem) {
      setError(formMessage(problem, { name: t.nameOfOne, description: t.description }));
    }
  };
  return (
    <Dialog title={title} close={close}>
      <form class="form" onSubmit={(event) => void save(event)}>
        <label>{t.nameOfOne}<input name="name" required maxLength={255} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label>{t.description}
          <textarea name="description" rows={2} maxLength={1000} value={description} onInput={(e) => setDescription(e.currentTarget.value)} />
        </label>
        <p class="quiet">{t.saveHint}</p>
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={t.saveAction} close={close} />
      </form>
    </Dialog>
  );
}

/** Back to the beginning, from one that is open. */
export const AllLink = () => (
  <a class="quiet-button" href={addressWith({ item: "", own: {} })} onClick={follow}><Icon name="arrow-left" />{t.all}</a>
);

export const isOpen = (): boolean => address.value.item !== "" || Object.keys(address.value.own).length > 0;
