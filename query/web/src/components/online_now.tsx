// How many visitors are on the website now, as a link to the live view.
import { useAnswer } from "../api/use";
import { addressWith, follow } from "../state/address";
import { formatNumber } from "../state/format";
import { texts } from "../texts";

const SECONDS = 15;
const t = texts.live;

export function OnlineNow() {
  const { value } = useAnswer({ name: "active_stats", fixed: true }, SECONDS);
  const count = value?.rows[0]?.active_users;
  return (
    <a class={`online-now ${count ? "some" : ""}`} href={addressWith({ view: "live", item: "", own: {} })} onClick={follow} title={t.nowHint}>
      <span class="online-dot" aria-hidden="true" />
      {count === undefined ? <span class="skeleton" aria-busy="true" /> : t.online(formatNumber(count))}
    </a>
  );
}
