// Says what the numbers of an answer leave out or cannot tell.
import type { Schemas } from "../types";

/** Amounts in several currencies have no sum, but are shown by currency here. */
const SHOWN_BY_CURRENCY = "SEVERAL_CURRENCIES";

export function ResultWarnings({ warnings }: { warnings: Schemas["ResultWarning"][] }) {
  const messages = warnings.filter(({ code }) => code !== SHOWN_BY_CURRENCY).map(({ message }) => sentence(message));
  return messages.length ? <p class="quiet">{messages.join(" ")}</p> : null;
}

const sentence = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
