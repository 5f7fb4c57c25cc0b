// The form of a text for a count, by the rules of a language.

/** Of two forms: one for what the language counts as one, one for all others. A language with more has them in its own file. */
export function pluralOf(language: string): (count: number, one: string, other: string) => string {
  const rules = new Intl.PluralRules(language);
  return (count, one, other) => (rules.select(count) === "one" ? one : other);
}
