// The end of a share or a key, as people choose it.
import { timezone } from "../api/session";
import { formatDay, formatInstant } from "../state/format";
import { dayEndedAt } from "../state/period";
import { moreTexts } from "../texts.more";

/** The last day if the end is the end of a day, else the instant. */
export function endDay(expires: string, zone = timezone.value): string {
  const day = dayEndedAt(expires, zone);
  return day ? moreTexts.shares.lastDay(formatDay(day)) : formatInstant(expires, zone);
}
