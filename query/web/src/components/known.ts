// What Explore knows of the website: metrics, dimensions, goals, and the currencies of its amounts.
import { useRef } from "preact/hooks";
import { useMetrics } from "../api/metrics";
import { fetchJson } from "../api/request";
import { type Loaded, useLoaded } from "../api/use";
import type { Known, MetricsCatalogue } from "../state/metric_fields";
import { summedMoney, useMoney } from "./money";
import { useGoals } from "./saved_goals";

export interface WebsiteKnown extends Known {
  /** The event that brings money. */
  order?: string;
}

export function useKnown(): Loaded<WebsiteKnown> {
  const catalogue = useLoaded("metrics catalogue", (signal) => fetchJson<MetricsCatalogue>("/v1/query/metrics", { signal }));
  const goals = useGoals();
  const all = useMoney();
  const money = all?.length ? summedMoney(all) : undefined;
  const amounts = useMetrics(all?.length ? { metrics: [{ metric: "revenue", ...(money ? { money } : {}) }], dimensions: ["currency"] } : null);
  const last = useRef<string[]>([]); // stays while another time range loads
  if (amounts.value) last.current = amounts.value.filter(({ revenue }) => Number(revenue) !== 0).flatMap(({ currency }) => (currency ? String(currency) : []));
  const areKnown = useRef(false);
  areKnown.current ||= Boolean(all && (amounts.value || amounts.error || !all.length));
  const isKnown = catalogue.value && (goals.value || goals.error) && all && areKnown.current;
  const value = isKnown ? { catalogue: catalogue.value!, goals: goals.value ?? [], currencies: last.current, money, order: all[0]?.event } : null;
  return { value, error: catalogue.error, loading: !value, reload: catalogue.reload };
}
