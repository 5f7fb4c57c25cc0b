// Boards: saved explorations, cards of the overview and texts on one page, in an order that people choose.
import { useState } from "preact/hooks";
import { fetchJson, pathWith } from "../api/request";
import { mayWriteRecords, subjectQuery, timezone } from "../api/session";
import type { Loaded } from "../api/use";
import { BoardEditor } from "../components/boards/board_editor";
import { BoardTile } from "../components/boards/board_tile";
import { ImportDialog } from "../components/boards/import_dialog";
import { Card } from "../components/card";
import { ConfirmDialog } from "../components/confirm_dialog";
import { ownFileName, save } from "../components/download";
import { Icon } from "../components/icon";
import { useKnown } from "../components/known";
import { BOARDS_PATH, useBoards } from "../components/saved_boards";
import { type Saved, useExplorations } from "../components/saved_explorations";
import { FormDialog } from "../components/setup/form_dialog";
import { Async, Empty, Failed, Skeleton } from "../components/states";
import { address, addressWith, follow, go, goOwn } from "../state/address";
import { type Board, fileOf } from "../state/board";
import { formatAgo, formatInstant } from "../state/format";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";

const t = moreTexts.boards;

export default function Boards() {
  const { item } = address.value;
  const list = useBoards();
  const explorations = useExplorations();
  const [stored, setStored] = useState<Board | null>(null);
  const listed = list.value?.find(({ id }) => id === item);
  // The list may be older than what was just stored.
  const board = stored?.id === item && stored.updatedAt > (listed?.updatedAt ?? "") ? stored : listed;
  const changed = (record: Board | null, edit = "") => {
    setStored(record);
    list.reload();
    go({ item: record?.id ?? "", own: edit ? { edit } : {} });
  };
  if (!item) return <BoardList list={list} changed={changed} />;
  const error = list.error ?? explorations.error;
  if (error) return <Failed error={error} retry={list.error ? list.reload : explorations.reload} />;
  if (board && explorations.value) return <OpenBoard key={item} board={board} explorations={explorations.value} changed={changed} />;
  return list.value && !board && !list.loading ? <Empty text={t.unknown} /> : <Skeleton lines={8} />;
}

type Changed = (board: Board | null, edit?: string) => void;

function BoardList({ list, changed }: { list: Loaded<Board[]>; changed: Changed }) {
  const [open, setOpen] = useState<"new" | "import" | null>(null);
  const writes = mayWriteRecords();
  const close = () => setOpen(null);
  return (
    <Card title={t.title} className="wide" actions={writes && (
      <>
        <button type="button" class="button" onClick={() => setOpen("import")}><Icon name="upload" />{t.import}</button>
        <button type="button" class="button primary" onClick={() => setOpen("new")}><Icon name="plus" />{t.create}</button>
      </>)}>
      <Async loaded={list} lines={3} isEmpty={(all) => !all.length} empty={t.none}>
        {(all) => (
          <ul class="saved-list">
            {all.map(({ id, name, tiles, createdBy, updatedAt }) => (
              <li key={id}>
                <a href={addressWith({ item: id, own: {} })} onClick={follow}>
                  <Icon name="layout-panel-left" />
                  <span><b>{name}</b><small>{t.count(tiles.length)}</small></span>
                </a>
                <small class="quiet" title={formatInstant(updatedAt, timezone.value)}>
                  {createdBy ? moreTexts.explore.byWhom(createdBy, formatAgo(updatedAt)) : formatAgo(updatedAt)}
                </small>
              </li>
            ))}
          </ul>
        )}
      </Async>
      {open === "new" && (
        <FormDialog<Schemas["BoardResponse"]> title={t.create} inputs={[{ name: "name", label: t.name, required: true }]} method="POST"
          path={pathWith(BOARDS_PATH, subjectQuery.value)} body={({ name }) => ({ name })} close={close} done={({ data }) => changed(data, "1")} />
      )}
      {open === "import" && <ImportDialog done={(board) => changed(board)} close={close} />}
    </Card>
  );
}

function OpenBoard({ board, explorations, changed }: { board: Board; explorations: Saved[]; changed: Changed }) {
  const { own } = address.value;
  const known = useKnown();
  const [removes, setRemoves] = useState(false);
  const writes = mayWriteRecords();
  if (writes && own.edit) {
    return <BoardEditor board={board} explorations={explorations} saved={changed} close={() => goOwn({ edit: "" })} />;
  }
  const download = () => save(new Blob([`${JSON.stringify(fileOf(board, explorations), null, 2)}\n`], { type: "application/json" }), ownFileName(board.name, "json"));
  const remove = async () => {
    await fetchJson(`${BOARDS_PATH}/${board.id}`, { method: "DELETE" });
    changed(null);
  };
  return (
    <>
      <div class="explore-head">
        <h2>{board.name}</h2>
        <span class="board-ends">
          <a class="quiet-button" href={addressWith({ item: "", own: {} })} onClick={follow}><Icon name="arrow-left" />{t.all}</a>
          <button type="button" class="button" onClick={download}><Icon name="download" />{t.export}</button>
          {writes && <button type="button" class="icon" aria-label={t.delete} title={t.delete} onClick={() => setRemoves(true)}><Icon name="trash-2" /></button>}
          {writes && <button type="button" class="button" onClick={() => goOwn({ edit: "1" })}><Icon name="pencil" />{t.edit}</button>}
        </span>
      </div>
      {board.tiles.length ? (
        <div class="board">
          {board.tiles.map((tile, i) => <div key={`${i} ${tile.exploration} ${tile.card}`} class={`tile-${tile.width ?? 1}`}><BoardTile {...{ tile, explorations, known }} /></div>)}
        </div>
      ) : <Empty text={writes ? t.noTiles : t.noTilesToRead} />}
      {removes && (
        <ConfirmDialog title={t.deleteTitle} text={t.confirmDelete(board.name)} action={t.deleteAction} run={remove} close={() => setRemoves(false)} />
      )}
    </>
  );
}
