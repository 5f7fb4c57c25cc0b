// The part of the font that a first view needs, so that it is half as large: the letters of English and German, figures and signs.
import { readFileSync, writeFileSync } from "node:fs";
import subsetFont from "subset-font";

const FONT = new URL("node_modules/@fontsource-variable/geist/files/geist-latin-wght-normal.woff2", import.meta.url);
const ASCII = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("");
/** Together with ASCII these are the `unicode-range` of the first part in tokens.css. */
const BEYOND_ASCII = "\u00a0ÄÖÜßäöüé·×±–—‘’“”„…→−";
const WEIGHTS = { wght: { min: 400, max: 660 } };

export async function writeFont(path) {
  writeFileSync(path, await subsetFont(readFileSync(FONT), ASCII + BEYOND_ASCII, { targetFormat: "woff2", variationAxes: WEIGHTS }));
}
