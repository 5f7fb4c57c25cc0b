// Changes a board: its name, its tiles, and their order by buttons or by dragging.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { type Board, CARDS, MOST_TILES, moved, type Tile, tileBody, WIDTHS } from "../../state/board";
import { texts } from "../../texts";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Icon } from "../icon";
import { MenuItem, Popover } from "../popover";
import { BOARDS_PATH } from "../saved_boards";
import type { Saved } from "../saved_explorations";
import { useForm } from "../use_form";
import { tileName } from "./board_tile";

const t = moreTexts.boards;
const LABELS = { name: t.name, tiles: t.tiles };
/** Pixels at the edges of the window where dragging scrolls, and how far each time. */
const [EDGE, STEP] = [90, 14];

/** A tile with a key that stays while it moves. */
interface Draft {
  key: number;
  tile: Tile;
}

interface Focus {
  key: number;
  control: "earlier" | "later" | "title";
}

export function BoardEditor({ board, explorations, saved, close }: {
  board: Board;
  explorations: Saved[];
  saved: (board: Board) => void;
  close: () => void;
}) {
  const [name, setName] = useState(board.name);
  const [drafts, setDrafts] = useState<Draft[]>(() => board.tiles.map((tile, key) => ({ key, tile })));
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const [told, setTold] = useState("");
  const focus = useRef<Focus | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const { error, busy, submit } = useForm(LABELS);
  useLayoutEffect(() => { // a control loses the focus when its tile moves
    const { key, control } = focus.current ?? {};
    const first = list.current?.querySelector<HTMLButtonElement>(`[data-key="${key}"] [data-control="${control}"]`);
    const other = list.current?.querySelector<HTMLElement>(`[data-key="${key}"] [data-control]:not(:disabled)`);
    (first?.disabled ? other : first)?.focus();
    focus.current = null;
  }, [drafts]);
  const move = (from: number, to: number) => {
    if (from === to) return;
    setDrafts(moved(drafts, from, to));
    setTold(t.movedTo(tileName(drafts[from]!.tile, explorations), to + 1, drafts.length));
  };
  const press = (from: number, by: 1 | -1) => {
    focus.current = { key: drafts[from]!.key, control: by === 1 ? "later" : "earlier" };
    move(from, from + by);
  };
  const add = (tile: Tile) => {
    const key = Math.max(-1, ...drafts.map((draft) => draft.key)) + 1;
    focus.current = { key, control: "title" };
    setDrafts([...drafts, { key, tile }]);
  };
  const set = (key: number, part: Tile) => setDrafts(drafts.map((draft) => (draft.key === key ? { key, tile: { ...draft.tile, ...part } } : draft)));
  const send = async () => {
    const body = { name, tiles: drafts.map(({ tile }) => tileBody(tile)) };
    const { data } = await fetchJson<Schemas["BoardResponse"]>(`${BOARDS_PATH}/${board.id}`, { method: "PATCH", body });
    saved(data);
  };
  /** Listens on the window: the tile may be drawn anew meanwhile. */
  const begin = (event: PointerEvent, from: number) => {
    if (event.button) return;
    event.preventDefault();
    let to = from;
    const listening = new AbortController();
    const drawn = ({ clientX, clientY }: PointerEvent) => {
      const under = document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>("[data-at]");
      if (under) to = Number(under.dataset.at);
      scrollBy(0, clientY < EDGE ? -STEP : clientY > innerHeight - EDGE ? STEP : 0);
      setDrag({ from, to });
    };
    const ended = ({ type }: Event) => {
      listening.abort();
      setDrag(null);
      if (type === "pointerup") move(from, to);
    };
    const { signal } = listening;
    addEventListener("pointermove", drawn, { signal });
    addEventListener("pointerup", ended, { signal });
    addEventListener("pointercancel", ended, { signal });
    setDrag({ from, to });
  };
  const isFull = drafts.length >= MOST_TILES;
  return (
    <form class="board-editor" onSubmit={submit(send)}>
      <section class="card board-bar" aria-label={t.editOne(board.name)}>
        <label>{t.name}<input name="name" required maxLength={255} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
        <span class="board-adds" role="group" aria-label={t.addTile}>
          <Popover label={<><Icon name="plus" />{t.exploration}</>} name={t.addExploration} disabled={isFull || !explorations.length}>
            {(shut) => explorations.map((each) => <MenuItem key={each.id} onClick={() => { shut(); add({ exploration: each.id, width: 1 }); }}>{each.name}</MenuItem>)}
          </Popover>
          <Popover label={<><Icon name="plus" />{t.card}</>} name={t.addCard} disabled={isFull}>
            {(shut) => CARDS.map((card) => (
              <MenuItem key={card} onClick={() => { shut(); add({ card, width: card === "visitors" ? 3 : 1 }); }}>{t.cards[card]}</MenuItem>
            ))}
          </Popover>
          <button type="button" class="button" aria-label={t.addText} disabled={isFull} onClick={() => add({ text: "", width: 1 })}><Icon name="plus" />{t.text}</button>
        </span>
        <span class="board-ends">
          <button type="button" class="button" onClick={close}>{texts.filters.cancel}</button>
          <button type="submit" class="button primary" disabled={busy}>{t.save}</button>
        </span>
        {error && <p class="error" role="alert">{error}</p>}
        {!explorations.length && <small class="quiet">{t.noExplorations}</small>}
      </section>
      <span role="status" class="hidden">{told}</span>
      <ul ref={list} class="board">
        {drafts.map(({ key, tile }, i) => {
          const title = tileName(tile, explorations);
          return (
            <li key={key} data-key={key} data-at={i}
              class={`card board-draft tile-${tile.width ?? 1} ${drag?.from === i ? "dragged" : drag?.to === i ? "target" : ""}`}>
              <header class="card-head">
                <span class="board-grip" title={t.drag} aria-hidden="true" onPointerDown={(event) => begin(event, i)}><Icon name="grip-vertical" /></span>
                <h2>{title}</h2>
                <span class="card-actions">
                  <button type="button" class="icon" data-control="earlier" aria-label={t.earlier(title)} title={t.earlier(title)} disabled={i === 0} onClick={() => press(i, -1)}><Icon name="arrow-up" /></button>
                  <button type="button" class="icon" data-control="later" aria-label={t.later(title)} title={t.later(title)} disabled={i === drafts.length - 1} onClick={() => press(i, 1)}><Icon name="arrow-down" /></button>
                  <button type="button" class="icon" aria-label={t.remove(title)} title={t.remove(title)} onClick={() => setDrafts(drafts.filter((draft) => draft.key !== key))}><Icon name="trash-2" /></button>
                </span>
              </header>
              <div class="form">
                {typeof tile.text === "string" && (
                  <label>{t.text}<textarea name="text" data-control="title" required rows={4} maxLength={2000} value={tile.text} onInput={(e) => set(key, { text: e.currentTarget.value })} /></label>
                )}
                <div class="board-fields">
                  <label>{t.titleOf}
                    <input name="title" data-control="title" maxLength={255} value={tile.title ?? ""} placeholder={typeof tile.text === "string" ? "" : tileName({ ...tile, title: null }, explorations)}
                      onInput={(e) => set(key, { title: e.currentTarget.value })} />
                  </label>
                  <label>{t.width}
                    <select name="width" value={tile.width ?? 1} onChange={(e) => set(key, { width: Number(e.currentTarget.value) })}>
                      {WIDTHS.map((width) => <option key={width} value={width}>{t.widths[width]}</option>)}
                    </select>
                  </label>
                </div>
              </div>
            </li>
          );
        })}
      </ul>
      {!drafts.length && <p class="empty">{t.noTiles}</p>}
    </form>
  );
}
