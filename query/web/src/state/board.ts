// The tiles of a board, and a board as a file.
import type { Schemas } from "../types";
import { isRecord, parseJson } from "./filters";

export type Board = Schemas["BoardResource"];
/** One of `exploration`, `card` and `text`. */
export type Tile = Partial<Schemas["BoardTile"]>;
type Exploration = Schemas["ExplorationResource"];

/** Cards of the overview that a tile can show. */
export const CARDS = ["visitors", "pages", "sources", "countries", "devices", "events", "goals"] as const;
export type CardName = (typeof CARDS)[number];
export const WIDTHS = [1, 2, 3] as const;
export const MOST_TILES = 50;

/** In the other order: the element at `from` takes the place of the one at `to`. */
export const moved = <Item>(items: Item[], from: number, to: number): Item[] =>
  items.toSpliced(from, 1).toSpliced(to, 0, items[from]!);

/** Without members that are null or empty, as the service takes it. */
export const tileBody = (tile: Tile): Tile => withoutEmpty({ ...tile, title: tile.title?.trim() });

const withoutEmpty = <Members extends object>(members: Members): Members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined && value !== "")) as Members;

/** What a file has of an exploration: no id of this installation. */
export type FileExploration = Pick<Schemas["NewExploration"], "name" | "description" | "metricsQuery" | "customQuery" | "shape">;
export type FileTile = Omit<Tile, "exploration"> & { exploration?: FileExploration };
export interface BoardFile {
  name: string;
  tiles: FileTile[];
}

/** The board as a file; tiles whose exploration is gone are left out. */
export function fileOf({ name, tiles }: Board, explorations: Exploration[]): BoardFile {
  const tileOf = (tile: Tile): FileTile[] => {
    const { exploration: id, ...members } = tileBody(tile);
    if (!id) return [members];
    const saved = explorations.find((exploration) => exploration.id === id);
    if (!saved) return [];
    const { name: title, description, metricsQuery, customQuery, shape } = saved;
    return [{ exploration: withoutEmpty({ name: title, description, metricsQuery, customQuery, shape }), ...members }];
  };
  return { name, tiles: tiles.flatMap(tileOf) };
}

/** The board in a file; the number of the first tile that cannot be read, 0 when the file is no board. */
export function parseBoardFile(text: string): BoardFile | number {
  const file = parseJson(text);
  if (!isRecord(file) || typeof file.name !== "string" || !Array.isArray(file.tiles)) return 0;
  const unread = file.tiles.findIndex((tile) => !isFileTile(tile));
  return unread >= 0 ? unread + 1 : { name: file.name, tiles: file.tiles as FileTile[] };
}

const isFileTile = (tile: unknown): boolean => isRecord(tile)
  && (typeof tile.text === "string" || typeof tile.card === "string" || (isRecord(tile.exploration) && typeof tile.exploration.name === "string"));
