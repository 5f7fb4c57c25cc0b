// What a number means, in the words of the reference.
import { texts } from "../texts";
import { moreTexts } from "../texts.more";

const CODE = "`";

/** What is defined: a metric, a query type, several metrics by their labels, or a text of its own. */
export type Defined = { metric: string } | { type: string; rows?: boolean } | { metrics: [label: string, name: string][] } | string;

/** Names of metrics and query types overlap: `visitors` is both. */
function textOf(defined: Defined): string | undefined {
  const { metrics, types } = moreTexts.definitions as Record<"metrics" | "types", Record<string, string>>;
  if (typeof defined === "string") return defined;
  if ("metric" in defined) return metrics[defined.metric];
  if ("metrics" in defined) return defined.metrics.map(([label, name]) => `${label}: ${metrics[name]}`).join(". ");
  return defined.rows ? `${types[defined.type]}. ${texts.breakdowns.several}` : types[defined.type];
}

/** A definition as a sentence: it starts with a capital letter, and what stands between backticks is code. */
export default function Definition({ of }: { of: Defined }) {
  const text = textOf(of) ?? "";
  const parts = (text.charAt(0).toUpperCase() + text.slice(1)).split(CODE);
  return <>{parts.map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}
