// What a website of the organization is called.
import { me } from "../../api/session";
import { moreTexts } from "../../texts.more";

/** Null is all of them. */
export function websiteName(id: string | null): string {
  const found = me.value?.websites.find((each) => each.id === id);
  return id === null ? moreTexts.setup.allWebsites : (found?.name || found?.domain || id);
}
