// Items that may not have arrived when a page was left, for the next page of this tab.
import { mark } from "./tag.js";

// They are given away once. Of a day: so long an id that arrives again is recognized.
export const takeUnsent = () => {
  try {
    const items = JSON.parse(sessionStorage[mark]);
    delete sessionStorage[mark];
    return items.filter(({ timestamp }) => timestamp > Date.now() - 864e5);
  } catch {
    return [];
  }
};

// The newest of them, within 100 KB.
export const keepUnsent = (items) => {
  items = takeUnsent().concat(items);
  try {
    while ((sessionStorage[mark] = JSON.stringify(items)).length > 1e5) items.shift();
  } catch {}
};
