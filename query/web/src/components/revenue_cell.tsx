// The revenue of a row: as wide while it loads, so that no column moves.
import { amountsText, type Revenue } from "./money";

export function RevenueCell({ of: { amounts, isKnown }, name }: { of: Revenue; name: string }) {
  const known = amounts.get(name);
  return <span class={known ? "amount" : "amount quiet"} aria-busy={!isKnown}>{known ? amountsText(known) : isKnown ? "–" : "…"}</span>;
}
