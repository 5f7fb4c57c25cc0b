// Other tabs of this browser learn that the sign-in has changed, since all have the same cookie.
const NAME = "tidemark.sign-in";
let channel: BroadcastChannel | null = null;

export const tellOtherTabs = (): void => channel?.postMessage(null);

/** Listens while the page is open; not while the browser keeps it to go back to, which a channel would hinder. */
export function listenToOtherTabs(changed: () => void): void {
  const open = () => {
    try {
      channel = new BroadcastChannel(NAME);
      channel.onmessage = changed;
    } catch {
      channel = null; // storage is forbidden, as in a frame of another site
    }
  };
  open();
  addEventListener("pagehide", () => channel?.close());
  addEventListener("pageshow", ({ persisted }) => persisted && open());
}
