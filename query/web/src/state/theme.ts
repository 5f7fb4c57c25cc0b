// Light or dark: as the system, or as chosen in this browser.
import { signal } from "@preact/signals";

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
const KEY = "tidemark.theme";

const stored = (): Theme => {
  try {
    const value = localStorage.getItem(KEY) as Theme;
    return THEMES.includes(value) ? value : "auto";
  } catch {
    return "auto"; // storage is forbidden, as in a frame of another site
  }
};

export const theme = signal<Theme>(stored());

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.value;
}

export function setTheme(value: Theme): void {
  theme.value = value;
  applyTheme();
  try {
    localStorage.setItem(KEY, value);
  } catch {
    // not kept
  }
}

/** The value of a color of tokens.css in the present theme, for what is drawn on a canvas. */
export function tokenColor(name: string): string {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
