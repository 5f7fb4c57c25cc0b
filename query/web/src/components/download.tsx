// A button that offers all rows of a list as a CSV file.
import { useState } from "preact/hooks";
import { type Ask, requestOf } from "../api/ask";
import type { CsvFile } from "../api/download";
import type { RequestError } from "../api/request";
import { timezone, website } from "../api/session";
import { address } from "../state/address";
import type { FileColumn } from "../state/csv";
import { formatNumber } from "../state/format";
import { type Days, daysOf } from "../state/period";
import { texts } from "../texts";
import type { QueryType } from "../types";
import { Icon } from "./icon";
import { messageOf } from "./states";

const t = texts.download;

/** `acme-pages-2026-11-01_2026-11-07.csv` */
const fileName = (website: string, what: string, { start, end }: Days, extension: string): string =>
  `${[website, what].map(part).filter(Boolean).join("-")}-${start === end ? start : `${start}_${end}`}.${extension}`;

/** Letters and digits of any script, in lower case, with hyphens between. */
const part = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60);

/** The name of a file of the website and time range that are open. */
export const ownFileName = (what: string, extension: string): string =>
  fileName(website.value?.name ?? "", what, daysOf(address.value.period, timezone.value), extension);

/** The file of all rows that a query has now. */
export async function loadCsv(ask: Ask<QueryType>, columns: FileColumn[]): Promise<CsvFile> {
  const request = requestOf(ask);
  return (await import("../api/download")).csvOf(request, columns);
}

/** Offers data as a file. */
export function save(data: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Saves a file of all rows when asked; `note` says what is wrong with it. */
export function useDownload(title: string, load: (() => Promise<CsvFile>) | undefined) {
  const [busy, setBusy] = useState(false);
  const [note, setNote] = useState("");
  const download = async () => {
    setBusy(true);
    setNote("");
    const name = ownFileName(title, "csv"); // of what is shown now
    try {
      const { data, rows, total } = await load!();
      save(data, name);
      if (rows < total) setNote(t.cut(formatNumber(rows), formatNumber(total)));
    } catch (problem) {
      setNote(messageOf(problem as RequestError));
    }
    setBusy(false);
  };
  return { busy, note, download };
}

/** The same as a button, where there is no menu of a card. */
export function DownloadCsv({ title, load }: { title: string; load: () => Promise<CsvFile> }) {
  const { busy, note, download } = useDownload(title, load);
  return (
    <>
      <span role="status" class="quiet">{note}</span>
      <button type="button" class="quiet-button" aria-label={t.csv(title)} title={t.csv(title)} aria-busy={busy} disabled={busy}
        onClick={() => void download()}>
        <Icon name="download" /> CSV
      </button>
    </>
  );
}
