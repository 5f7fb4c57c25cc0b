// The language of the page: as the browser prefers, or as chosen in this browser. It is read once, before any text is.
import { storedChoice, withStorage } from "./storage";

/** Languages that the page has, by their own names. */
export const LANGUAGES = { en: "English", de: "Deutsch" };
export type Language = keyof typeof LANGUAGES;
export type LanguageChoice = Language | "auto";
export const LANGUAGE_CHOICES = ["auto", ...Object.keys(LANGUAGES)] as LanguageChoice[];
const KEY = "tidemark.language";

const languageOf = (tag: string): string => tag.split(/[-_@]/)[0]!.toLowerCase();

/** A tag of the browser, which may be none that `Intl` takes, such as en-US@posix. */
const canonical = (tag: string): string | undefined => {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
};

export const languageChoice = storedChoice(KEY, LANGUAGE_CHOICES);
export const language: Language = languageChoice !== "auto" ? languageChoice
  : (navigator.languages.map(languageOf).find((each) => Object.hasOwn(LANGUAGES, each)) as Language | undefined) ?? "en";
/** Formats of the browser's region where it has one for the language of the page: en-GB, de-AT. */
export const locale = navigator.languages.filter((tag) => languageOf(tag) === language).map(canonical).find(Boolean) ?? language;

/** Keeps the choice; the page is loaded anew, as texts are read once. */
export function chooseLanguage(choice: LanguageChoice): void {
  withStorage((storage) => storage.setItem(KEY, choice));
  location.reload();
}
