// Alerts, channels, reports and their notices, as the API has them.
import type { AlertRecord } from "../state/alert_rules";

interface Stored {
  id: string;
  createdBy?: string | null;
}

export interface AlertResource extends AlertRecord, Stored {
  /** Left out where it was not checked yet. */
  state?: { state: "ok" | "firing" | "waiting" | "problem"; value: number | null; checkedUntil: string | null; since: string | null; problem: string | null };
}

export interface ChannelResource extends Stored {
  name: string;
  kind: "webhook" | "slack" | "discord" | "teams" | "telegram" | "ntfy";
  host: string;
  chat: string | null;
  /** Shown once, in the response that creates a webhook. */
  secret?: string;
}

export interface ReportResource extends Stored {
  name: string;
  schedule: "daily" | "weekly" | "monthly";
  hour: number;
  explorations: string[];
  filters: Record<string, unknown>[];
  attach: "none" | "csv" | "pdf";
  compare: boolean;
  recipients: string[];
  channels: string[];
  paused: boolean;
  state?: { nextAt: string | null; lastAt: string | null; problem: string | null };
}

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
