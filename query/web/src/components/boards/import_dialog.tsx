// Makes a board of a file; explorations of the file that the website does not have by name are saved before.
import { useState } from "preact/hooks";
import { fetchAll } from "../../api/pages";
import { fetchJson, RequestError } from "../../api/request";
import { subjectQuery } from "../../api/session";
import { type Board, type BoardFile, parseBoardFile } from "../../state/board";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Dialog } from "../dialog";
import { FormFooter } from "../form_footer";
import { BOARDS_PATH } from "../saved_boards";
import { EXPLORATIONS_PATH, type Saved } from "../saved_explorations";
import { useForm } from "../use_form";

const t = moreTexts.boards;
const LABELS = { name: t.name, tiles: t.tiles };

/** The board of a file, stored on the website that is open. */
async function store({ name, tiles }: BoardFile): Promise<Board> {
  const query = subjectQuery.value;
  const ids = new Map((await fetchAll<Saved>(EXPLORATIONS_PATH, query)).map((saved) => [saved.name, saved.id]));
  for (const { exploration } of tiles) {
    if (!exploration || ids.has(exploration.name)) continue;
    const { data } = await fetchJson<Schemas["ExplorationResponse"]>(EXPLORATIONS_PATH, { query, body: exploration }).catch((problem: RequestError) => {
      throw new RequestError(problem.status, problem.code, `${exploration.name}: ${problem.message}`, problem.retryAfter);
    });
    ids.set(exploration.name, data.id);
  }
  const body = { name, tiles: tiles.map(({ exploration, ...tile }) => (exploration ? { ...tile, exploration: ids.get(exploration.name) } : tile)) };
  return (await fetchJson<Schemas["BoardResponse"]>(BOARDS_PATH, { query, body })).data;
}

export function ImportDialog({ done, close }: { done: (board: Board) => void; close: () => void }) {
  const [file, setFile] = useState<BoardFile | null>(null);
  const [problem, setProblem] = useState("");
  const { error, busy, submit } = useForm(LABELS);
  const read = async (chosen: File | undefined) => {
    const parsed = chosen ? parseBoardFile(await chosen.text()) : null;
    setProblem(parsed === 0 ? t.noBoardFile : typeof parsed === "number" ? t.unreadTile(parsed) : "");
    setFile(typeof parsed === "number" ? null : parsed);
  };
  const shown = problem || error;
  return (
    <Dialog title={t.importTitle} close={close}>
      <form class="form" onSubmit={submit(async () => done(await store(file!)))}>
        <label>{t.file}<input type="file" name="file" accept="application/json,.json" required onChange={(e) => void read(e.currentTarget.files?.[0])} /></label>
        <p class="quiet">{t.importHint}</p>
        {file && <label>{t.name}<input name="name" required maxLength={255} value={file.name} onInput={(e) => setFile({ ...file, name: e.currentTarget.value })} /></label>}
        {shown && <p class="error" role="alert">{shown}</p>}
        <FormFooter submit={t.importAction} close={close} busy={busy || !file} />
      </form>
    </Dialog>
  );
}
