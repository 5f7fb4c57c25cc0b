// What a website had when this browser showed it last: a place is kept for that while it loads.
import { website } from "../api/session";
import { withStorage } from "../state/storage";

/** Whether `records` has any; by what was remembered while they are null. */
export function hadAny(kind: "goals" | "money", records: unknown[] | null): boolean {
  const key = `tidemark.had.${kind}.${website.value?.id ?? ""}`;
  if (!records) return Boolean(withStorage((storage) => storage.getItem(key)));
  withStorage((storage) => (records.length ? storage.setItem(key, "1") : storage.removeItem(key)));
  return records.length > 0;
}
