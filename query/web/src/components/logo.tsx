// Images beside names: logos of browsers, systems and known sources, and flags of countries.
import images from "../../generated/images.json";
import type { Breakdown } from "../state/breakdowns";
import type { IconName } from "../types";
import { Icon } from "./icon";

const LOGOS: Record<string, string | undefined> = images.logos;

/** The logo of what a row names, or an icon of its kind where there is none. */
export function Logo({ name, other = "globe" }: { name: string; other?: IconName }) {
  const file = LOGOS[name.toLowerCase()];
  if (!file) return <Icon name={other} className="logo" />;
  const isMono = images.mono.some((logo) => file.startsWith(`logo-${logo}-`));
  return <img class={isMono ? "logo mono" : "logo"} src={`/${file}`} alt="" width="16" height="16" loading="lazy" decoding="async" />;
}

/** The flag of a country by its code of two letters. */
export function Flag({ country }: { country: string }) {
  if (!/^[A-Z]{2}$/.test(country)) return <Icon name="globe" className="logo" />;
  return <img class="flag" src={`/flag-${country}-${images.flags}.svg`} alt="" width="18" height="12" loading="lazy" decoding="async" />;
}

const DEVICES: Record<string, IconName> = { desktop: "monitor", mobile: "smartphone", tablet: "tablet", smarttv: "tv" };

export const DeviceIcon = ({ device }: { device: string }) => <Icon name={DEVICES[device.toLowerCase()] ?? "monitor"} className="logo" />;

/** The image before the name of a row of a breakdown. */
export function RowImage({ breakdown: { image, name }, row }: { breakdown: Breakdown; row: Record<string, unknown> }) {
  const text = String(row[name]);
  switch (image) {
    case "flag": return <Flag country={String(row.country ?? text)} />;
    case "device": return <DeviceIcon device={text} />;
    case "browser": case "source": return <Logo name={text} />;
    case "system": return <Logo name={text} other="monitor" />;
    default: return null;
  }
}
