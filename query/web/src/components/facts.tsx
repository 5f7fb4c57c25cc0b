// Labels with a value each, of one visit, visitor or error.
import type { ComponentChildren } from "preact";
import { shownValue } from "../state/filter_values";
import { countryName } from "../state/format";

export type Fact = [label: string, value: ComponentChildren];

/** Facts without a value are left out; `strip` sets them in lines, each as wide as it is. */
export function Facts({ facts, strip = false }: { facts: Fact[]; strip?: boolean }) {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return (
    <dl class={strip ? "facts strip" : "facts"}>
      {known.map(([label, value]) => <div key={label}><dt>{label}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}

/** Class of device, browser and system as one text. */
export const deviceText = (device: string | null, ...parts: (string | null)[]): string =>
  [device && shownValue("device_type", device), ...parts].filter(Boolean).join(" · ") || "–";

export const placeText = (country: string | null, region: string | null): string =>
  [region, countryName(country)].filter(Boolean).join(", ");
