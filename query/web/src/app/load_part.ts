// Loads a part of the page; an open page whose version the service has no more begins anew, once.
const RELOADED = "tidemark.reloaded";
const AGAIN_MS = 10_000;
const ASK_MS = 5000;

export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (error) {
    if (!(await isReplaced()) || Date.now() - Number(sessionStorage.getItem(RELOADED)) < AGAIN_MS) throw error;
    sessionStorage.setItem(RELOADED, String(Date.now()));
    location.reload();
    return new Promise(() => {}); // the page is going
  }
}

/** Loads the page again once the service answers, as browsers may remember that a part failed; the returned function ends it. */
export function reloadWhenReachable(): () => void {
  const timer = setInterval(() => {
    if (!document.hidden) fetch("/", { method: "HEAD" }).then(({ ok }) => ok && location.reload(), () => {});
  }, ASK_MS);
  return () => clearInterval(timer);
}

/** Whether the service answers, with another page than this one. */
async function isReplaced(): Promise<boolean> {
  try {
    const page = await (await fetch("/", { headers: { accept: "text/html" } })).text();
    const script = document.querySelector<HTMLScriptElement>("script[src]");
    return !page.includes(script?.getAttribute("src") ?? "");
  } catch {
    return false;
  }
}
