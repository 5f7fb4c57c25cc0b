// Facts that tidemark.js sends with each `page_exit`.

// The given function is called as the page is left, once per `page_exit`.
export const addFacts = (facts) => {
  const others = window.tidemark?.facts;
  if (window.tidemark) tidemark.facts = () => ({ ...others?.(), ...facts() });
};
