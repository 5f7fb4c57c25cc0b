// Begins an alert with what Explore asks.
import { useState } from "preact/hooks";
import { hasRecords, mayWriteRecords } from "../api/session";
import { addressWith, follow } from "../state/address";
import type { AlertKnown, Watch } from "../state/alert_rules";
import { moreTexts } from "../texts.more";
import { AlertDialog } from "./alert_dialog";
import { Icon } from "./icon";

const t = moreTexts.alerts;

export function AlertButton({ watch, goals, saved, isMixed = false }: {
  watch: Watch | null;
  goals: AlertKnown["goals"];
  /** Name of the saved exploration that is watched. */
  saved?: string;
  /** Whether its total would add several currencies. */
  isMixed?: boolean;
}) {
  const [state, setState] = useState<"open" | "saved" | null>(null);
  if (!mayWriteRecords() || !hasRecords()) return null;
  if (!watch) return isMixed ? <span class="quiet">{t.mixed}</span> : null;
  return (
    <>
      {state === "saved" && <span role="status" class="quiet">{t.saved} <a href={addressWith({ view: "setup", item: "", own: { part: "alerts" } })} onClick={follow}>{t.open}</a></span>}
      <button type="button" class="button" onClick={() => setState("open")}><Icon name="bell" />{t.alertMe}</button>
      {state === "open" && <AlertDialog watch={watch} exploration={saved} known={{ goals, explorations: [] }} close={() => setState(null)} saved={() => setState("saved")} />}
    </>
  );
}
