// The roles of people in words.
import { texts } from "../texts";
import { moreTexts } from "../texts.more";

/** Null is a role on some websites only. */
export const roleName = (role: string | null): string => (role === null ? moreTexts.people.someWebsites : texts.app.roles[role] ?? role);
