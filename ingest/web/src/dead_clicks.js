// Clicks on something that looks as if it did something, after which nothing happens.

const WAIT = 2500;
const ACTIVE = "a,button,summary,[role=button],[role=link],[role=tab],[role=menuitem],[onclick]";
const EFFECTS = ["scroll", "input", "change", "selectionchange", "focusin", "popstate", "submit"];
const CHANGES = { attributes: true, characterData: true, childList: true, subtree: true };

// A link to another page or to a file has its effect elsewhere.
const leads = (link) => link?.href && link.href.split("#")[0] != location.href.split("#")[0];

// Calls back if nothing changed, moved or went away within WAIT after a click.
export const watchClick = (target, callback) => {
  const element = target.closest(ACTIVE);
  if (!element || leads(target.closest("a[href]")) || target.closest("[download],[disabled]")) return;
  const stop = () => {
    clearTimeout(timer);
    observer.disconnect();
    for (const type of EFFECTS) removeEventListener(type, stop, true);
    for (const type of ["pagehide", "visibilitychange", "blur"]) removeEventListener(type, stop);
  };
  const timer = setTimeout(() => {
    stop();
    callback(element);
  }, WAIT);
  const observer = new MutationObserver(stop);
  observer.observe(document, CHANGES);
  for (const type of EFFECTS) addEventListener(type, stop, true);
  for (const type of ["pagehide", "visibilitychange", "blur"]) addEventListener(type, stop);
};
