// The roles of people in words.
import { moreTexts } from "../texts.more";

const t = moreTexts.people;

/** Null is a role on some websites only. */
export const roleName = (role: string | null): string => (role === null ? t.someWebsites : t.roles[role] ?? role);
