// The image before a value: the flag of a country, the logo of a browser, system or source.
import { DeviceIcon, Flag, Logo } from "./logo";

export function ValueSign({ field, value }: { field: string; value: string }) {
  if (field === "country") return <Flag country={value} />;
  if (field === "device_type") return <DeviceIcon device={value} />;
  if (field === "os_name") return <Logo name={value} other="monitor" />;
  return field === "browser_name" || field === "visit.referrer_name" ? <Logo name={value} /> : null;
}
