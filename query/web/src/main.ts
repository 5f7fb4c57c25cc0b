// Entry point of the dashboard: puts the texts of the language in place, then starts the application, whose modules read them.
import { type Language, language } from "./state/language";
import { type Texts, texts } from "./texts";

const OTHERS: Record<Exclude<Language, "en">, () => Promise<{ texts: Texts }>> = { de: () => import("./texts.de") };

document.documentElement.lang = language;
if (language !== "en") Object.assign(texts, (await OTHERS[language]()).texts);
await import("./start");
