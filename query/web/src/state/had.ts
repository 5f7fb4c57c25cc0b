// What a website had when this browser showed it last: a place is kept for that while it loads.
import { website } from "../api/session";

/** Whether `records` has any; by what was remembered while they are null. */
export function hadAny(kind: "goals" | "money", records: unknown[] | null): boolean {
  const key = `tidemark.had.${kind}.${website.value?.id ?? ""}`;
  try {
    if (records?.length) localStorage.setItem(key, "1");
    else if (records) localStorage.removeItem(key);
    return records ? records.length > 0 : localStorage.getItem(key) !== null;
  } catch {
    return Boolean(records?.length); // storage is forbidden, as in a frame of another site
  }
}
