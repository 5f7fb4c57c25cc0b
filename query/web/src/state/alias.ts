// Names that are easy to tell apart for visitors of whom only a random id is known.
import { moreTexts } from "../texts.more";

/** The same two words for the same id, always. */
export function aliasOf(id: string): string {
  const { first, second, name } = moreTexts.alias;
  let hash = 0x811c9dc5; // FNV-1a
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193) >>> 0;
  return name(first[hash % first.length]!, second[(hash >>> 8) % second.length]!);
}
