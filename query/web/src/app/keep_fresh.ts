// What is shown is asked again every minute while its time range goes on, when the page comes back into sight, and
// every five seconds while the service does not answer.
import { isReachable } from "../api/request";
import { refresh } from "../api/use";
import { daysOf, today } from "../state/period";
import { address } from "./address";
import { timezone } from "./session";

const SECONDS = 60;

/** Begins; the returned function ends it. Without `running` only what was not answered is asked again. */
export function keepFresh(running: boolean): () => void {
  let last = Date.now();
  const check = () => {
    const goesOn = running && daysOf(address.value.period, timezone.value).end >= today(timezone.value);
    if (document.hidden) return;
    if (isReachable.value && (!goesOn || Date.now() - last < SECONDS * 1000)) return;
    last = Date.now();
    refresh();
  };
  const timer = setInterval(check, 5000);
  document.addEventListener("visibilitychange", check);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", check);
  };
}
