// What the browser keeps under a key, or keeps from now on; nothing when it does not let us.
export const storage = (key, value) => {
  try {
    return value == null ? localStorage[key] : (localStorage[key] = value);
  } catch {}
};
