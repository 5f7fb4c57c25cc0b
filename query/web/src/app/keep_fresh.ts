// What is shown is asked again every minute while its time range goes on, when the page comes back into sight, and
// every five seconds while the service does not answer.
import { isReachable } from "../api/request";
import { refresh } from "../api/use";
import { daysOf, today } from "../state/period";
import { address } from "./address";
import { timezone } from "./session";

const SECONDS = 60;

/** Begins; the returned function ends it. */
export function keepFresh(): () => void {
  let last = Date.now();
  const check = () => {
    const goesOn = daysOf(address.value.period, timezone.value).end >= today(timezone.value);
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
