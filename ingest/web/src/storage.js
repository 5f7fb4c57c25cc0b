// The one thing that the browser keeps for us: ids, or the word of who does not want any.
const KEY = "tidemark";

export const OPTED_OUT = "optout";

// What is kept, or is from now on; nothing where the browser keeps nothing.
export const storage = (value) => {
  try {
    return value == null ? localStorage[KEY] : (localStorage[KEY] = value);
  } catch {}
};
