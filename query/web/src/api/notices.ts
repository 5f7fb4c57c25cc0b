// Alerts, channels, reports and their notices, as the API has them.
import type { Schemas } from "../types";

export type AlertResource = Schemas["AlertResource"] & {
  state?: { state: "ok" | "firing" | "waiting" | "problem"; value: number | null; checkedUntil: string | null; since: string | null; problem: string | null };
};
export type ReportResource = Schemas["ReportResource"] & { state?: { nextAt: string | null; lastAt: string | null } };

export interface Delivery {
  to: string;
  kind: string;
  state: "due" | "trying" | "delivered" | "failed";
  dueAt: string;
  attempts: number;
  triedAt: string | null;
  deliveredAt: string | null;
  problem: string | null;
}

export interface Notice {
  id: string;
  event: "fired" | "recovered" | "test" | "report";
  start: string | null;
  end: string | null;
  value: number | null;
  reference: number | null;
  text: string;
  createdAt: string;
  deliveries: Delivery[];
}
