// Entry point of the dashboard: puts the texts of the language in place, then starts the application, whose modules read them.
import { language } from "./state/language";
import { texts } from "./texts";

document.documentElement.lang = language;
if (language === "de") Object.assign(texts, (await import("./texts.de")).german);
await import("./start");
