// Requests the shown data again every minute while its time range goes on, when the page becomes visible again, and
// every five seconds while the service does not answer.
import { timezone } from "../api/session";
import { isReachable, refresh } from "../api/use";
import { address } from "../state/address";
import { goesOn } from "../state/period";

const SECONDS = 60;

/** Begins; the returned function ends it. Without `eachMinute` it asks only while the service does not answer. */
export function keepFresh(eachMinute: boolean): () => void {
  let last = Date.now();
  const check = () => {
    const isDue = eachMinute && goesOn(address.value.period, timezone.value) && Date.now() - last >= SECONDS * 1000;
    if (document.hidden || (isReachable.value && !isDue)) return;
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
