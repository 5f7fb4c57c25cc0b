// The icons, logos and flags that the page may show, taken from packages when it is built.
//
// Icons are drawn inline, in the color of the text. Logos and flags are images with a hash in their names, which browsers keep.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const here = (path) => new URL(path, import.meta.url).pathname;

/** Names of Lucide icons. */
const ICONS = [
  "activity", "arrow-down", "arrow-left", "arrow-right", "arrow-up", "bell", "bookmark", "bot", "bug", "building-2", "calendar", "chart-column", "chart-line",
  "check", "chevron-down", "chevron-left", "chevron-right", "chevrons-up-down", "circle-check", "clock", "code", "coins",
  "compass", "copy", "database", "download", "ellipsis", "external-link", "eye-off", "file-text", "flag", "footprints", "funnel", "gauge",
  "globe", "goal", "grip-vertical", "history", "info", "key-round", "keyboard", "languages", "layers", "layout-dashboard", "layout-grid", "layout-panel-left", "link",
  "list", "list-filter", "log-in", "log-out", "mail", "map", "map-pin", "maximize", "megaphone", "menu", "minus", "monitor", "moon",
  "mouse-pointer-click", "pencil", "percent", "plus", "repeat", "route", "save", "search", "settings", "share-2", "shield",
  "shopping-cart", "sliders-horizontal", "smartphone", "sparkles", "square-function", "sun", "table", "tablet", "tag", "target", "trash-2",
  "trending-down", "trending-up", "triangle-alert", "tv", "upload", "user", "users", "x", "zap",
];

/** Logos of what a row may name, in lower case. `mono` ones are drawn in the color of the text where it is light. */
const LOGOS = {
  chrome: "chrome", "chrome mobile": "chrome", "chrome mobile webview": "chrome", "mobile chrome": "chrome", chromium: "chrome",
  firefox: "firefox", "firefox mobile": "firefox", "mobile firefox": "firefox",
  safari: "safari", "mobile safari": "safari", edge: "microsoft-edge", "microsoft edge": "microsoft-edge", "edge mobile": "microsoft-edge",
  opera: "opera", "opera mobile": "opera", brave: "brave", vivaldi: "vivaldi-icon", "internet explorer": "internetexplorer", ie: "internetexplorer",
  macos: "apple", "mac os": "apple", "mac os x": "apple", ios: "apple", ipados: "apple", windows: "microsoft-windows-icon", android: "android-icon",
  linux: "linux-tux", ubuntu: "ubuntu", "chrome os": "chrome", chromeos: "chrome",
  google: "google-icon", bing: "bing", duckduckgo: "duckduckgo", facebook: "facebook", x: "x", twitter: "x", reddit: "reddit-icon", github: "github-icon", gitlab: "gitlab-icon",
  linkedin: "linkedin-icon", youtube: "youtube-icon", slack: "slack-icon", instagram: "instagram-icon", pinterest: "pinterest", tiktok: "tiktok-icon",
  telegram: "telegram", whatsapp: "whatsapp-icon", "hacker news": "ycombinator", "product hunt": "producthunt", chatgpt: "openai-icon", openai: "openai-icon",
  claude: "claude-icon", perplexity: "perplexity-icon", mastodon: "mastodon-icon", medium: "medium-icon", discord: "discord-icon", bluesky: "bluesky",
  "stack overflow": "stackoverflow-icon", twitch: "twitch", threads: "threads", yandex: "yandex-ru", "duck duck go": "duckduckgo",
};
const MONO = new Set(["apple", "x", "github-icon", "threads", "openai-icon", "medium-icon", "tiktok-icon"]);

const hashOf = (text) => createHash("sha256").update(text).digest("hex").slice(0, 10);

/** Inner markup of each icon, all of one frame and stroke. */
export function icons() {
  return Object.fromEntries(ICONS.map((name) => {
    const file = readFileSync(here(`node_modules/lucide-static/icons/${name}.svg`), "utf8");
    return [name, file.slice(file.indexOf(">", file.indexOf("<svg")) + 1, file.lastIndexOf("</svg>")).replace(/\s*\n\s*/g, "")];
  }));
}

/** Writes the images into a folder; their file names by what they show. */
export function writeImages(folder) {
  mkdirSync(folder, { recursive: true });
  return { logos: writeLogos(folder), mono: [...MONO], flags: writeFlags(folder) };
}

function writeLogos(folder) {
  const set = JSON.parse(readFileSync(here("node_modules/@iconify-json/logos/icons.json"), "utf8"));
  const written = {};
  for (const [shown, name] of Object.entries(LOGOS)) {
    const logo = set.icons[name];
    if (!logo) throw new Error(`no such logo: ${name}`);
    const [width, height] = [logo.width ?? set.width ?? 256, logo.height ?? set.height ?? 256];
    const image = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 ${width} ${height}">${logo.body}</svg>`;
    const file = `logo-${name}-${hashOf(image)}.svg`;
    writeFileSync(`${folder}/${file}`, image);
    written[shown] = file;
  }
  return written;
}

/** The flags have one hash for all, so that the page needs no list of their names. */
function writeFlags(folder) {
  const from = here("node_modules/country-flag-icons/3x2");
  const codes = readdirSync(from).filter((name) => /^[A-Z]{2}\.svg$/.test(name));
  const images = codes.map((name) => readFileSync(`${from}/${name}`, "utf8"));
  const hash = hashOf(images.join(""));
  codes.forEach((name, i) => writeFileSync(`${folder}/flag-${name.slice(0, 2)}-${hash}.svg`, images[i]));
  return hash;
}
