// The one thing that the browser keeps for us: ids, or the word of who does not want any.

// What is kept, or is from now on; nothing where the browser keeps nothing.
export const storage = (value) => {
  try {
    return value == null ? localStorage.tidemark : (localStorage.tidemark = value);
  } catch {}
};
