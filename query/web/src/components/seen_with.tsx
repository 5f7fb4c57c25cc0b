// What a visit was seen with, each in one line: a device, a country, a source.
import type { ComponentChildren } from "preact";
import { shownValue } from "../state/filter_values";
import { countryName } from "../state/format";
import { DeviceIcon, Flag, Logo } from "./logo";

/** Class of device, browser and system; in a table only the browser has its name beside its image. */
export function Device({ device, browser, system, short = false }: {
  device: string | null;
  browser: string | null;
  system: string | null;
  short?: boolean;
}) {
  if (!device && !browser && !system) return <>–</>;
  return (
    <span class="seen-with device">
      {device && <Named name={shownValue("device_type", device)} short={short}><DeviceIcon device={device} /></Named>}
      {browser && <Named name={browser}><Logo name={browser} /></Named>}
      {system && <Named name={system} short={short}><Logo name={system} other="monitor" /></Named>}
    </span>
  );
}

const Named = ({ name, short, children }: { name: string; short?: boolean; children: ComponentChildren }) => (
  short ? <span role="img" aria-label={name} title={name}>{children}</span> : <span>{children}{name}</span>
);

export function Country({ code, region }: { code: string | null; region?: string | null }) {
  if (!code) return <>–</>;
  return <span class="seen-with"><Flag country={code} />{[region, countryName(code)].filter(Boolean).join(", ")}</span>;
}

export function Source({ name }: { name: string | null }) {
  if (!name) return <>–</>;
  return <span class="seen-with"><SourceLogo name={name} />{shownValue("referrer_name", name)}</span>;
}

export const SourceLogo = ({ name }: { name: string }) => <Logo name={name} other={name === DIRECT ? "log-in" : "globe"} />;

/** What the API calls visits that nothing referred. */
const DIRECT = "Direct";
