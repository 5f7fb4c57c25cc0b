// The page that an address is, as the stream stores it, and when another one is shown.

// No query, of the fragment only a route (#/cart, #!/cart, #!cart), no slash at the end. Decoded last, as
// a `?` may be encoded.
export const place = (address = location.href) =>
  unescape(
    address
      .replace(/\?[^#]*|#(?![!/]).*/g, "")
      .replace(/\/*#!?\/*/, "#")
      .replace(/[#/]+$/, ""),
  );

// Calls back after each change of the address without a load, more than once for some.
export const onMove = (moved) => {
  for (const name of ["pushState", "replaceState"]) {
    const original = history[name];
    history[name] = (...state) => {
      original.apply(history, state);
      moved();
    };
  }
  addEventListener("popstate", moved, true);
  // `navigation.navigate` and links that an application intercepts.
  window.navigation?.addEventListener("currententrychange", moved);
};
