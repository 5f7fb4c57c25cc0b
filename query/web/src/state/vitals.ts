// Web vitals: their bounds, as the metrics of the API have them, and the rating of a value.
import bounds from "../../generated/vitals.json";
import { formatMilliseconds, formatNumber } from "./format";

export type Vital = keyof typeof bounds;
export type Rating = "good" | "needs_improvement" | "poor";

export const VITALS = Object.keys(bounds) as Vital[];
export const RATINGS: Rating[] = ["good", "needs_improvement", "poor"];

export function ratingOf(vital: Vital, value: number): Rating {
  const { good, poor } = bounds[vital];
  return value <= good ? "good" : value <= poor ? "needs_improvement" : "poor";
}

export const formatVital = (vital: Vital, value: number): string =>
  bounds[vital].unit === "milliseconds" ? formatMilliseconds(value) : formatNumber(Math.round(value * 1000) / 1000);

/** From where on a value is no longer good, and where it is poor. */
export const boundsOf = (vital: Vital): [good: number, poor: number] => [bounds[vital].good, bounds[vital].poor];

export const boundsText = (vital: Vital): [good: string, poor: string] =>
  [formatVital(vital, bounds[vital].good), formatVital(vital, bounds[vital].poor)];
