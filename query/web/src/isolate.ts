// Texts of strangers change nothing beside them: they keep the direction of their letters to themselves, and
// characters that steer the display without being seen are named instead.
const TURNS = /[\u0590-\u08ff\u200e\u200f\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;
const [FIRST_STRONG_ISOLATE, POP_ISOLATE] = ["\u2068", "\u2069"];
/**
 * Not in it: white space, joiners of letters and emoji, variants of letters after one of Chinese characters, the flags that are spelled
 * with tags, and the marks that formats of the browser have.
 */
const UNSEEN = new RegExp(
  "(\\u{1f3f4}\\u{e0067}\\u{e0062}(?:\\u{e0065}\\u{e006e}\\u{e0067}|\\u{e0073}\\u{e0063}\\u{e0074}|\\u{e0077}\\u{e006c}\\u{e0073})\\u{e007f})"
  + "|(?<!\\p{Script=Han})[\\u{e0100}-\\u{e01ef}]"
  + "|[\\0-\\x08\\x0b\\f\\x0e-\\x1f\\x7f-\\x9f\\xad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u2028-\\u202e\\u2060-\\u2067\\u206a-\\u206f"
  + "\\u2800\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}]",
  "gu",
);
/** What `isolate` made, or one of its marks alone, which it did not make. */
const ISOLATED = /(\u2068[^\u2068\u2069]*\u2069)|[\u2068\u2069]/g;

const nameOf = (character: string): string => `[U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`;

/** The text with invisible characters as their code points, as in `[U+202E]`. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, (found, flag?: string) => flag ?? nameOf(found)).replace(ISOLATED, (found, made?: string) => made ?? nameOf(found));

/** A text that changes no direction of what stands beside it; as it is where nothing in it could. */
export function isolate(text: string): string {
  const shown = visible(text);
  return TURNS.test(shown) ? `${FIRST_STRONG_ISOLATE}${shown.replace(/[\u2068\u2069]/g, "")}${POP_ISOLATE}` : shown;
}
