// Who is signed in, which website is open, and what may be done.
import { batch, computed, signal } from "@preact/signals";
import { fetchJson, RequestError, shareAccess, submitForm } from "../api/request";
import type { Me, Schemas, Website } from "../api/types";
import type { Filter } from "../state/filters";
import { address, go } from "./address";
import { tellOtherTabs } from "./other_tabs";
import { dropAccess, keepAccess, keptAccess } from "./share_storage";

/** undefined until known, null when nobody is signed in. */
export const me = signal<Me | null | undefined>(undefined);
/** Set when a sign-in, or the access to a shared dashboard, ended while the page was open. */
export const sessionEnded = signal(false);

export const website = computed<Website | null>(() => {
  const { base } = address.value;
  const all = me.value?.websites ?? [];
  if (base.startsWith("s/")) return all[0] ?? null;
  return all.find(({ id }) => id === base) ?? null;
});

/** A shared dashboard that is open, or why it is not. */
export interface SharedState {
  name: string;
  filters: Filter[];
}
export const shared = signal<SharedState | null>(null);
export const isShared = (): boolean => address.value.base.startsWith("s/");

export const timezone = computed(() => address.value.timezone ?? website.value?.timezone ?? "UTC");
export const subjectQuery = computed<Record<string, string>>(() => ({ website_id: website.value?.id ?? "" }));
export const may = (scope: string): boolean => me.value?.scopes.includes(scope) ?? false;

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

/**
 * Opens the shared dashboard of the address; RequestError 401 when its password is missing or wrong.
 *
 * A password that was right once is not asked for again in this browser until the access that it gave ends.
 */
export async function openShare(password?: string): Promise<void> {
  const link = address.value.base.slice("s/".length);
  if (password === undefined) {
    if (await resumeShare(link)) return;
    // A link whose access ended while the page was open may open nothing any more, which only the service knows.
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
      success: true, organization: null, websites: [opened.website], key: null, scopes: ["read:data"],
      expires: opened.expires, collectUrl: "", share: { name: opened.name, filters: opened.filters },
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

export async function signIn(body: Schemas["SignInBody"]): Promise<void> {
  me.value = await submitForm<Me>("/v1/sign-in", body);
  sessionEnded.value = false;
  tellOtherTabs();
}

export async function signOut(): Promise<void> {
  await fetchJson("/v1/sign-in", { method: "DELETE" });
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
