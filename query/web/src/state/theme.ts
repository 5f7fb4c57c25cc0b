// Light or dark: as the system, or as chosen in this browser.
import { signal } from "@preact/signals";
import { storedChoice, withStorage } from "./storage";

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
const KEY = "tidemark.theme";

export const theme = signal<Theme>(storedChoice(KEY, THEMES));

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.value;
}

export function setTheme(value: Theme): void {
  theme.value = value;
  applyTheme();
  withStorage((storage) => storage.setItem(KEY, value));
}

/** The value of a color of tokens.css in the present theme, for what is drawn on a canvas. */
export function tokenColor(name: string): string {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
