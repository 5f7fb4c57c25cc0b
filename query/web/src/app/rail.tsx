// The rail beside the page: name, website, navigation, freshness, and the menu; a bar above the page where the window is narrow.
import { useEffect, useState } from "preact/hooks";
import { freshness } from "../api/freshness";
import { ALL, hasRecords, isAll, isShared, mayEverywhere, me, roleHere, signOut, timezone, website } from "../api/session";
import { refresh } from "../api/use";
import { Icon } from "../components/icon";
import { LanguageItems } from "../components/language_menu";
import { MenuItem, Popover } from "../components/popover";
import icon from "../icon.svg";
import { isolate } from "../isolate";
import { address, addressWith, follow, go } from "../state/address";
import { formatAgo, formatInstant } from "../state/format";
import { setTheme, type Theme, theme, THEMES } from "../state/theme";
import { texts } from "../texts";
import type { IconName } from "../types";
import { helpOpen } from "./keyboard";
import { Navigation } from "./navigation";

const t = texts.app;
const AGE_SECONDS = 10;
const THEME_ICONS: Record<Theme, IconName> = { auto: "monitor", light: "sun", dark: "moon" };

export function Rail() {
  return (
    <header class="rail">
      <div class="top">
        <Popover label={<Icon name="menu" size={20} />} name={t.menu} className="icon top-menu">{(close) => <Navigation close={close} />}</Popover>
        <a class="brand" href={addressWith({ view: "overview" })} onClick={follow} aria-label={t.name}>
          <img src={icon} alt="" width="24" height="24" /><span class="brand-name">{t.name}</span>
        </a>
        {me.value && <WebsiteName />}
      </div>
      <Navigation />
      <div class="rail-foot">
        <FreshnessNote />
        <Popover label={<Icon name="ellipsis" />} name={t.more} className="icon" panel="menu settings-menu">{(close) => <Menu close={close} />}</Popover>
      </div>
    </header>
  );
}

/** What is rarely used, in one menu. */
function Menu({ close }: { close: () => void }) {
  return (
    <>
      <strong class="menu-title">{t.theme}</strong>
      {THEMES.map((each) => (
        <MenuItem key={each} chosen={theme.value === each} onClick={() => { close(); setTheme(each); }}>
          <Icon name={THEME_ICONS[each]} />{t.themes[each]}
        </MenuItem>
      ))}
      <hr />
      <strong class="menu-title">{t.language}</strong>
      <LanguageItems close={close} />
      <hr />
      <MenuItem onClick={() => { close(); helpOpen.value = true; }}><Icon name="keyboard" />{t.keys}</MenuItem>
      {!isShared() && <a class="menu-item" href="/docs"><Icon name="code" />{t.api}</a>}
      {!isShared() && me.value && <SignedIn close={close} />}
      {!isShared() && <MenuItem onClick={() => void signOut()}><Icon name="log-out" />{t.signOut}</MenuItem>}
    </>
  );
}

/** Who is signed in, and the way to the account, or to one where nobody owns the organization. */
function SignedIn({ close }: { close: () => void }) {
  const { key, person, organization, websites } = me.value!;
  const role = roleHere();
  const opened = (event: MouseEvent) => {
    close();
    follow(event);
  };
  const setup = addressWith({ base: hasRecords() ? address.value.base : websites[0]?.id ?? "new", view: "setup", item: "", own: { part: "people" } });
  return (
    <>
      <hr />
      <p class="menu-text signed-in">
        <strong>{isolate(person ? person.name || person.email : key?.name ?? "")}</strong>
        <span>{isolate([person?.name && person.email, organization?.name, role && (t.roles[role] ?? role)].filter(Boolean).join(" · "))}</span>
      </p>
      {person && <a class="menu-item" href="/account" onClick={opened}><Icon name="user" />{t.account}</a>}
      {key && organization && !organization.hasOwner && mayEverywhere("admin") && <a class="menu-item" href={setup} onClick={opened}><Icon name="user" />{t.makeAccount}</a>}
    </>
  );
}

/** The website that is open, and a menu of all where there are several. */
function WebsiteName() {
  const { websites } = me.value!;
  const name = website.value?.name ?? t.website;
  const shown = <><Letter of={name} /><span>{name}</span></>;
  if (isShared() || websites.length <= 1) return <span class="website" title={name}>{shown}</span>;
  return (
    <Popover label={<>{shown}<Icon name="chevrons-up-down" size={14} /></>} name={`${t.website}: ${name}`} className="button website-menu">
      {(close) => (
        <>
          <MenuItem chosen={isAll()} onClick={() => { close(); go({ base: ALL, view: "websites", filters: [], own: {}, item: "", timezone: null }); }}>
            <Icon name="layout-grid" />{texts.websites.all}
          </MenuItem>
          <hr />
          {websites.map(({ id, name, domain }) => (
            <MenuItem key={id} chosen={id === website.value?.id}
              onClick={() => { close(); go({ ...(address.value.view === "websites" ? { view: "overview" } : {}), base: id, filters: [], own: {}, item: "", timezone: null }); }}>
              {name}<small>{domain}</small>
            </MenuItem>
          ))}
        </>
      )}
    </Popover>
  );
}

const Letter = ({ of }: { of: string }) => <span class="letter" data-letter={of.trim().charAt(0)} />;

function FreshnessNote() {
  const { watermark, staleReason } = freshness.value ?? {};
  const [, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((n) => n + AGE_SECONDS), AGE_SECONDS * 1000);
    return () => clearInterval(timer);
  }, []);
  if (!watermark) return <span class="freshness" title={staleReason}>{staleReason ? <span>{t.stale}</span> : ""}</span>;
  const ago = formatAgo(watermark);
  const text = t.freshness(ago);
  return (
    <button type="button" class={`freshness ${staleReason ? "late" : ""}`} onClick={refresh} aria-label={`${t.dataOf(ago)}. ${t.refresh}`}
      title={`${staleReason ?? text} (${formatInstant(watermark, timezone.value, true)}). ${t.refresh}`}>
      <span>{t.dataOf(ago)}</span>
    </button>
  );
}
