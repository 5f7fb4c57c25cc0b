// Saved boards: the list of them, and adding a saved exploration to one.
import { useState } from "preact/hooks";
import { fetchAll } from "../api/pages";
import { fetchJson } from "../api/request";
import { hasRecords, subjectQuery } from "../api/session";
import { type Loaded, useLoaded } from "../api/use";
import { addressWith, follow } from "../state/address";
import { type Board, tileBody } from "../state/board";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";
import { Dialog } from "./dialog";
import { FormFooter } from "./form_footer";
import { Icon } from "./icon";
import { useForm } from "./use_form";

const t = moreTexts.boards;
export const BOARDS_PATH = "/v1/boards";
const NEW = "new";

/** All of the website, by name. */
export function useBoards(): Loaded<Board[]> {
  const query = subjectQuery.value;
  return useLoaded(hasRecords() ? `boards ${JSON.stringify(query)}` : null, async (signal) =>
    (await fetchAll<Board>(BOARDS_PATH, query, signal)).sort((a, b) => a.name.localeCompare(b.name)));
}

/** A button that adds a saved exploration to a board, or to a new one. */
export function AddToBoard({ exploration }: { exploration: string }) {
  const [open, setOpen] = useState(false);
  const [added, setAdded] = useState("");
  return (
    <>
      {added && <span role="status" class="quiet">{t.added} <a href={addressWith({ view: "boards", item: added, own: {} })} onClick={follow}>{t.open}</a></span>}
      <button type="button" class="icon" aria-label={t.add} title={t.add} onClick={() => setOpen(true)}><Icon name="layout-panel-left" /></button>
      {open && <AddDialog exploration={exploration} added={setAdded} close={() => setOpen(false)} />}
    </>
  );
}

function AddDialog({ exploration, added, close }: { exploration: string; added: (board: string) => void; close: () => void }) {
  const boards = useBoards();
  const [choice, setChoice] = useState("");
  const [name, setName] = useState("");
  const { error, busy, submit } = useForm({ name: t.name });
  const chosen = choice || boards.value?.[0]?.id || NEW;
  const store = async () => {
    const board = boards.value?.find(({ id }) => id === chosen);
    const tiles = [...(board?.tiles.map(tileBody) ?? []), { exploration, width: 1 }];
    const { data } = board
      ? await fetchJson<Schemas["BoardResponse"]>(`${BOARDS_PATH}/${board.id}`, { method: "PATCH", body: { tiles } })
      : await fetchJson<Schemas["BoardResponse"]>(BOARDS_PATH, { query: subjectQuery.value, body: { name, tiles } });
    added(data.id);
    close();
  };
  return (
    <Dialog title={t.addTitle} close={close}>
      <form class="form" onSubmit={submit(store)}>
        <label>{t.board}
          <select name="board" value={chosen} onChange={(e) => setChoice(e.currentTarget.value)}>
            {boards.value?.map((board) => <option key={board.id} value={board.id}>{board.name}</option>)}
            <option value={NEW}>{t.create}</option>
          </select>
        </label>
        {!boards.loading && chosen === NEW && <label>{t.name}<input name="name" required maxLength={255} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>}
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={t.addAction} close={close} busy={busy || boards.loading} />
      </form>
    </Dialog>
  );
}
