// Name, website, freshness, theme, sign-out.
import { useEffect, useState } from "preact/hooks";
import { freshness } from "../api/freshness";
import { isShared, me, signOut, timezone, website } from "../api/session";
import { refresh } from "../api/use";
import { MenuItem, Popover } from "../components/popover";
import icon from "../icon.svg";
import { addressWith, follow, go } from "../state/address";
import { formatAgo, formatInstant } from "../state/format";
import { setTheme, theme, THEMES } from "../state/theme";
import { texts } from "../texts";
import { helpOpen } from "./keyboard";

const t = texts.app;
const AGE_SECONDS = 10;

export function TopBar() {
  const shared = isShared();
  return (
    <header class="top">
      <a class="brand" href={addressWith({ view: "overview" })} onClick={follow} aria-label={t.name}>
        <img src={icon} alt="" width="22" height="22" /><span class="brand-name">{t.name}</span>
      </a>
      {me.value && (shared || me.value.websites.length <= 1
        ? <span class="website" title={website.value?.name}>{website.value?.name}</span>
        : <WebsiteMenu />)}
      <FreshnessNote />
      <Popover label="⋯" name={t.more} className="icon top-more">{(close) => <Menu close={close} />}</Popover>
      <span class="top-actions">
        <Popover label={t.theme} className="quiet-button">
          {(close) => <Themes close={close} />}
        </Popover>
        <button type="button" class="quiet-button" aria-label={t.keys} title={`${t.keys} (?)`} onClick={() => (helpOpen.value = true)}>?</button>
        {!shared && <a class="quiet-button" href="/docs">{t.api}</a>}
        {!shared && <button type="button" class="quiet-button" onClick={() => void signOut()}>{t.signOut}</button>}
      </span>
    </header>
  );
}

function Themes({ close }: { close: () => void }) {
  return (
    <>
      {THEMES.map((each) => (
        <MenuItem key={each} chosen={theme.value === each} onClick={() => { close(); setTheme(each); }}>
          {t.themes[each]}
        </MenuItem>
      ))}
    </>
  );
}

/** What the bar has no room for on a phone. */
function Menu({ close }: { close: () => void }) {
  return (
    <>
      <strong class="menu-title">{t.theme}</strong>
      <Themes close={close} />
      <hr />
      <MenuItem onClick={() => { close(); helpOpen.value = true; }}>{t.keys}</MenuItem>
      {!isShared() && <a class="menu-item" href="/docs">{t.api}</a>}
      {!isShared() && <MenuItem onClick={() => void signOut()}>{t.signOut}</MenuItem>}
    </>
  );
}

function WebsiteMenu() {
  const { websites } = me.value!;
  const name = website.value?.name ?? t.website;
  return (
    <Popover label={`${name} ▾`} name={`${t.website}: ${name}`} className="button strong">
      {(close) => websites.map(({ id, name, domain }) => (
        <MenuItem key={id} chosen={id === website.value?.id}
          onClick={() => { close(); go({ base: id, filters: [], own: {}, item: "", timezone: null }); }}>
          {name}<small>{domain}</small>
        </MenuItem>
      ))}
    </Popover>
  );
}

function FreshnessNote() {
  const { watermark, staleReason } = freshness.value ?? {};
  const [, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((n) => n + AGE_SECONDS), AGE_SECONDS * 1000);
    return () => clearInterval(timer);
  }, []);
  if (!watermark) return <span class="freshness" title={staleReason}>{staleReason ? t.stale : ""}</span>;
  const text = t.freshness(formatAgo(watermark));
  return (
    <button type="button" class={`freshness ${staleReason ? "late" : ""}`} onClick={refresh} aria-label={`${text}. ${t.refresh}`}
      title={`${staleReason ?? formatInstant(watermark, timezone.value, true)}. ${t.refresh}`}>
      {text} <span aria-hidden="true">↻</span>
    </button>
  );
}
