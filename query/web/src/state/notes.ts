// Notes on days of the website, and where they are in a series.
import type { Schemas } from "../types";
import { instantLabel } from "./format";

/** Length of a date without a time. */
export const DATE = 10;

/** One that is stored, or a new one. */
export type Annotation = Pick<Schemas["SeriesAnnotation"], "start" | "text"> & Partial<Schemas["SeriesAnnotation"]>;

/** First and last bucket of a note; null where its begin is not among the labels. */
export function notePosition({ start, end }: Pick<Schemas["SeriesAnnotation"], "start" | "end">, labels: string[], timeZone: string): [number, number] | null {
  const at = (moment: string) => labels.findLastIndex((label) => label <= moment);
  const from = at(start.length === DATE ? `${start} 00:00:00` : instantLabel(start, timeZone));
  const to = end ? at(end.length === DATE ? `${end} 23:59:59` : instantLabel(end, timeZone)) : from;
  if (to < 0) return null;
  return [Math.max(0, from), to];
}
