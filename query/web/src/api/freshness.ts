// How fresh the numbers on the page are, from the last response.
import { signal } from "@preact/signals";
import type { Schemas } from "../types";

export type Freshness = Pick<Schemas["StandardMeta"], "watermark" | "lagSeconds" | "staleReason">;

export const freshness = signal<Freshness | null>(null);

export const noteFreshness = ({ watermark, lagSeconds, staleReason }: Freshness): void => {
  freshness.value = { watermark, lagSeconds, staleReason };
};
