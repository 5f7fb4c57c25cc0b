// Names of time zones. Browsers list some under names that the IANA database replaced; the page has the current ones.

/** Names of browsers (Unicode CLDR keeps the first one of a zone), and the current ones. */
const CURRENT: Record<string, string> = {
  "Africa/Asmera": "Africa/Asmara",
  "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
  "America/Catamarca": "America/Argentina/Catamarca",
  "America/Coral_Harbour": "America/Atikokan",
  "America/Cordoba": "America/Argentina/Cordoba",
  "America/Godthab": "America/Nuuk",
  "America/Indianapolis": "America/Indiana/Indianapolis",
  "America/Jujuy": "America/Argentina/Jujuy",
  "America/Louisville": "America/Kentucky/Louisville",
  "America/Mendoza": "America/Argentina/Mendoza",
  "Asia/Calcutta": "Asia/Kolkata",
  "Asia/Katmandu": "Asia/Kathmandu",
  "Asia/Rangoon": "Asia/Yangon",
  "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Atlantic/Faeroe": "Atlantic/Faroe",
  "Europe/Kiev": "Europe/Kyiv",
  "Pacific/Enderbury": "Pacific/Kanton",
  "Pacific/Ponape": "Pacific/Pohnpei",
  "Pacific/Truk": "Pacific/Chuuk",
};
/** An offset, which browsers take and the API does not. */
const OFFSET = /^[+-]/;

export const currentName = (zone: string): string => CURRENT[zone] ?? zone;

/** The current name of a time zone that a text names, in any case; null when it names none. */
export function parseTimeZone(text: string): string | null {
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions();
    return OFFSET.test(text) ? null : currentName(timeZone);
  } catch {
    return null;
  }
}

/** The time zone of this browser. */
export const localZone = (): string => currentName(Intl.DateTimeFormat().resolvedOptions().timeZone);

/** All that can be chosen: the given ones first, then UTC and the others in the order of their names. */
export const zoneNames = (first: string[]): string[] =>
  [...new Set([...first.map(currentName), "UTC", ...Intl.supportedValuesOf("timeZone").map(currentName).toSorted()])];
