// What a number means, in the words of the reference.
import { texts } from "../texts";

const CODE = "`";

/** Names of metrics and query types overlap: `visitors` is both. */
export const metricDefinition = (name: keyof typeof texts.definitions.metrics): string => texts.definitions.metrics[name];
export const typeDefinition = (name: string): string | undefined => (texts.definitions.types as Record<string, string>)[name];

/** Of a query type whose rows count visitors. */
export const rowsDefinition = (name: string): string => `${typeDefinition(name)}. ${texts.breakdowns.several}`;

/** A definition as a sentence: it starts with a capital letter, and what stands between backticks is code. */
export function Definition({ text }: { text: string }) {
  const parts = (text.charAt(0).toUpperCase() + text.slice(1)).split(CODE);
  return <>{parts.map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}
