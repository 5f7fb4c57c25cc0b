// Parts of the page that are loaded when they are first drawn.
import type { ComponentChildren, ComponentType } from "preact";
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

const RELOADED = "tidemark.reloaded";
const AGAIN_MS = 10_000;
const ASK_MS = 5000;

const Fallback = createContext<ComponentChildren>(null);

export function lazy<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function Lazy(props: Props) {
    const fallback = useContext(Fallback);
    const [, setReady] = useState(loaded !== null);
    useEffect(() => {
      if (!loaded) void loadPart(load).then((module) => { loaded = module.default; setReady(true); });
    }, []);
    const Shown = loaded;
    return Shown ? <Shown {...props} /> : <>{fallback}</>;
  };
}

export function Suspense({ fallback, children }: { fallback: ComponentChildren; children: ComponentChildren }) {
  return <Fallback.Provider value={fallback}>{children}</Fallback.Provider>;
}

let styles: Promise<void> | null = null;

/** The styles that a first view does not need. */
const loadStyles = (): Promise<void> => (styles ??= new Promise((resolve) => {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = document.documentElement.dataset.moreStyles!;
  link.onload = link.onerror = () => resolve();
  document.head.append(link);
}));

/** Loads a part, and unless it is the overview the styles beside it; an open page whose version the service no longer has is reloaded, once. */
export async function loadPart<Part>(load: () => Promise<Part>, isFirst = false): Promise<Part> {
  try {
    const [part] = await Promise.all([load(), isFirst ? undefined : loadStyles()]);
    return part;
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
