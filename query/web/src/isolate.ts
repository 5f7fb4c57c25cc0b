// Texts of users keep the direction of their letters to themselves.
const TURNS = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;
const [FIRST_STRONG_ISOLATE, POP_ISOLATE] = ["\u2068", "\u2069"];

/** A text that changes no direction of what stands beside it; as it is where nothing in it could. */
export const isolate = (text: string): string =>
  TURNS.test(text) ? `${FIRST_STRONG_ISOLATE}${text.replace(/[\u2066-\u2069]/g, "")}${POP_ISOLATE}` : text;
