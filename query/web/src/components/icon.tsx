// One icon of the set in icons.js, in the size and color of the text beside it.
import icons from "../../generated/icons.json";
import type { IconName } from "../types";

/** It says nothing to a screen reader: what it stands for is in the text or the name of its control. */
export function Icon({ name, size = 16, className = "" }: { name: IconName; size?: number; className?: string }) {
  return (
    <svg class={`svg-icon ${className}`} width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2"
      stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" dangerouslySetInnerHTML={{ __html: icons[name] }} />
  );
}
