// Names of downloaded files: website, what it is, first and last day.
import type { Days } from "./period";

/** `acme-pages-2026-11-01_2026-11-07.csv` */
export const fileName = (website: string, what: string, { start, end }: Days, extension: string): string =>
  `${[website, what].map(part).filter(Boolean).join("-")}-${start === end ? start : `${start}_${end}`}.${extension}`;

/** Letters and digits of any script, in lower case, with hyphens between. */
const part = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60);
