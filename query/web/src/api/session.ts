// Who is signed in, which website is open, and what may be done.
import { batch, computed, signal } from "@preact/signals";
import { address, go } from "../state/address";
import type { Filter } from "../state/filters";
import { withStorage } from "../state/storage";
import { texts } from "../texts";
import type { Me, Schemas, Website } from "../types";
import { fetchJson, RequestError, shareAccess, submitForm, whenForbidden } from "./request";

/** undefined until known, null when nobody is signed in. */
export const me = signal<Me | null | undefined>(undefined);
/** Set when a sign-in, or the access to a shared dashboard, ended while the page was open. */
export const sessionEnded = signal(false);

/** In the address in place of the id of a website: all that the key sees, as one. */
export const ALL = "all";
/** Websites that one query is about at most. */
const MOST_WEBSITES = 50;
/** The websites that are one under the address of ALL. */
export const allWebsites = (): Website[] => (me.value?.websites ?? []).slice(0, MOST_WEBSITES);

export const website = computed<Website | null>(() => {
  const { base } = address.value;
  const all = me.value?.websites ?? [];
  if (base.startsWith("s/")) return all[0] ?? null;
  return all.find(({ id }) => id === base) ?? (base === ALL && all.length ? together(allWebsites()) : null);
});

/** Several websites as one, whose days are those of their common time zone; what may be done in each of them may be done. */
function together(websites: Website[]): Website {
  const zones = new Set(websites.map((each) => each.timezone));
  const [first, ...others] = websites;
  return {
    id: websites.map(({ id }) => id).join(","), name: texts.websites.all, domain: "",
    timezone: zones.size === 1 ? [...zones][0]! : "UTC",
    scopes: first!.scopes.filter((scope) => others.every(({ scopes }) => scopes.includes(scope))),
  };
}

/** A shared dashboard that is open, or why it is not. */
export interface SharedState {
  name: string;
  filters: Filter[];
}
export const shared = signal<SharedState | null>(null);
export const isShared = (): boolean => address.value.base.startsWith("s/");

export const isAll = (): boolean => address.value.base === ALL;
/** Whether goals, segments and other saved records can be asked for: they belong to one website. */
export const hasRecords = (): boolean => !isShared() && !isAll();

export const timezone = computed(() => address.value.timezone ?? website.value?.timezone ?? "UTC");
export const subjectQuery = computed<Record<string, string>>(() => ({ website_id: website.value?.id ?? "" }));
/** Whether it may be done with the website that is open; where none is, in the organization. */
export const may = (scope: string): boolean => (website.value ?? me.value)?.scopes.includes(scope) ?? false;
/** What roles in the whole organization may there, such as with its short links; owners and admins may everything. */
const SCOPES_OF_ROLES: Record<string, string[]> = { analyst: ["read:data", "read:links", "write:links", "write:records"], viewer: ["read:data", "read:links"] };
const ADMINS = ["owner", "admin"];
/** Whether it may be done in the whole organization, and not with single websites alone, of which the scopes of a person are. */
export function mayEverywhere(scope: string): boolean {
  const { key, person, scopes } = me.value ?? {};
  const role = person?.role ?? "";
  return person ? ADMINS.includes(role) || (SCOPES_OF_ROLES[role]?.includes(scope) ?? false) : key?.websiteId === null && scopes!.includes(scope);
}
/** The role of the person on the website that is open, or in the organization where none is; null for a key, or where there is no role. */
export function roleHere(): string | null {
  const { person } = me.value ?? {};
  if (!person || !website.value || ADMINS.includes(person.role ?? "")) return person?.role ?? null;
  return may("admin") ? "admin" : may("write:records") ? "analyst" : may("read:data") ? "viewer" : person.role;
}
/** Whether goals, segments, funnels, annotations and explorations may be saved. */
export const mayWriteRecords = (): boolean => may("write:records") || may("manage:websites");

/** Set while the account shows recovery codes, which are not shown again: it stays open until they are kept. */
export const showsRecoveryCodes = signal(false);

/** Set by the service beside the session cookie, which no script can read. */
const SIGNED_IN = "tidemark_signed_in=1";
/** Set by the service with the page of a shared dashboard that has a password. */
const NEEDS_PASSWORD = "tidemark_share=password";
const hasCookie = (pair: string): boolean => document.cookie.split("; ").includes(pair);

/** Who is signed in, null for nobody; without a session cookie it makes no request. */
export async function readMe(): Promise<Me | null> {
  if (!hasCookie(SIGNED_IN)) return null;
  try {
    return await fetchJson<Me>("/v1/me");
  } catch (error) {
    if (!(error instanceof RequestError) || error.status !== 401) throw error;
    return null;
  }
}

export async function loadSession(): Promise<void> {
  me.value = await readMe();
}

/** Whether it is being asked what a person may do now, such as after the organization began to require a second factor. */
let isAsking = false;
whenForbidden(() => {
  if (!me.value?.person || isAsking) return;
  isAsking = true;
  void loadSession().catch(() => undefined).finally(() => void (isAsking = false));
});

/**
 * Opens the shared dashboard of the address; RequestError 401 when its password is missing or wrong.
 *
 * A password that was right once is not asked for again in this browser until the access that it gave ends.
 */
export async function openShare(password?: string): Promise<void> {
  const link = address.value.base.slice("s/".length);
  if (password === undefined) {
    if (await resumeShare(link)) return;
    // A link whose access ended while the page was open may be revoked, which only the service knows.
    if (!sessionEnded.value && hasCookie(NEEDS_PASSWORD)) throw new RequestError(401, "UNAUTHORIZED", "");
  }
  const body = { link, ...(password ? { password } : {}) };
  const opened = await submitForm<Schemas["OpenShareResponse"]>("/v1/shares/open", body);
  if (password !== undefined) keepAccess(link, opened);
  batch(() => {
    sessionEnded.value = false;
    shareAccess.value = opened.access;
    shared.value = { name: opened.name, filters: opened.filters };
    me.value = {
      success: true, organization: null, websites: [opened.website], key: null, person: null,
      scopes: opened.website.scopes, expires: opened.expires, collectUrl: "", mail: false, keepBounds: { minimum: 0, maximum: 0 }, share: { name: opened.name, filters: opened.filters },
    };
  });
}

/** Whether access that was kept still opens the shared dashboard. */
async function resumeShare(link: string): Promise<boolean> {
  const access = keptAccess(link);
  if (!access) return false;
  shareAccess.value = access;
  try {
    const opened = await fetchJson<Me>("/v1/me");
    batch(() => {
      shared.value = opened.share;
      me.value = opened;
    });
    return true;
  } catch {
    shareAccess.value = null;
    dropAccess(link);
    return false;
  }
}

/** The browser has another sign-in, with its cookie. */
export function enter(entered: Me): void {
  batch(() => {
    me.value = entered;
    sessionEnded.value = false;
    signedOut.value = false;
  });
  tellOtherTabs();
}

export const signIn = async (body: Schemas["SignInBody"]): Promise<void> => enter(await submitForm<Me>("/v1/sign-in", body));

/** Whether the sign-in was ended on this page: it does not begin again by itself. */
export const signedOut = signal(false);

export async function signOut(): Promise<void> {
  await fetchJson("/v1/sign-in", { method: "DELETE" });
  signedOut.value = true;
  me.value = null;
  tellOtherTabs();
  go("/sign-in");
}

/** After a 401: the sign-in has ended, and the address stays for the next one. */
export function endSession(): void {
  if (!me.value) return;
  if (isShared()) dropAccess(address.value.base.slice("s/".length));
  batch(() => {
    shareAccess.value = null;
    sessionEnded.value = true;
    me.value = null;
  });
}

/** Tells the other tabs of this browser, which have the same cookie, when the sign-in changes. */
const CHANNEL = "tidemark.sign-in";
let channel: BroadcastChannel | null = null;

const tellOtherTabs = (): void => channel?.postMessage(null);

/** Listens while the page is open; not while the browser keeps it to go back to, which a channel would hinder. */
export function listenToOtherTabs(changed: () => void): void {
  const open = () => {
    try {
      channel = new BroadcastChannel(CHANNEL);
      channel.onmessage = changed;
    } catch {
      channel = null; // storage is forbidden, as in a frame of another site
    }
  };
  open();
  addEventListener("pagehide", () => channel?.close());
  addEventListener("pageshow", ({ persisted }) => persisted && open());
}

/** Access to a shared dashboard with a password, stored by this browser until it ends; a frame of another site may have no storage. */
interface Kept {
  access: string;
  /** ISO 8601. */
  expires: string;
}

const nameOf = (link: string): string => `tidemark.share.${link}`;

function keepAccess(link: string, { access, expires }: Kept): void {
  withStorage((storage) => storage.setItem(nameOf(link), JSON.stringify({ access, expires })));
}

function dropAccess(link: string): void {
  withStorage((storage) => storage.removeItem(nameOf(link)));
}

/** The access text; null when there is none, or when it has ended. */
function keptAccess(link: string): string | null {
  const text = withStorage((storage) => storage.getItem(nameOf(link)));
  if (!text) return null;
  const { access, expires } = JSON.parse(text) as Kept;
  if (Date.parse(expires) > Date.now()) return access;
  dropAccess(link);
  return null;
}
