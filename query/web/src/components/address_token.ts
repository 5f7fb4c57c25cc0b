// The token of a link that works once: after `#`, which browsers send to no service.
import { useState } from "preact/hooks";

/** Read once, and taken out of the address at the same time. */
export function useToken(): string {
  const [token] = useState(() => {
    const given = location.hash.slice(1);
    if (given) history.replaceState(null, "", location.pathname);
    return given;
  });
  return token;
}
