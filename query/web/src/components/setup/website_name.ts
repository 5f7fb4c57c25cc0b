// What a website of the organization is called.
import { me } from "../../api/session";
import { texts } from "../../texts";

/** Null is all of them. */
export function websiteName(id: string | null): string {
  const found = me.value?.websites.find((each) => each.id === id);
  return id === null ? texts.setup.allWebsites : (found?.name || found?.domain || id);
}
