// Imports a file from the page: upload, the result of the check, start or discard, progress, result.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { fetchJson, type RequestError } from "../../api/request";
import { uploadFile } from "../../api/upload";
import { useLoaded } from "../../api/use";
import { addressWith, follow } from "../../state/address";
import { formatNumber, formatPercent } from "../../state/format";
import { texts } from "../../texts";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { DataTable } from "../data_table";
import { Facts } from "../facts";
import { Icon } from "../icon";
import { messageOf } from "../states";

type Import = Schemas["ImportResource"];
type Check = Schemas["ImportCheck"];
const t = moreTexts.setup.upload;
const SECONDS = 2;
/** Can be discarded, which also removes what is stored. */
const UNDER_WAY = ["checking", "checked", "importing", "failed"];
export const isUnderWay = ({ state }: Import): boolean => UNDER_WAY.includes(state);
/** Of long files, events are counted by month. */
const isDay = (text: string): boolean => text.length === "2026-01-01".length;

/** Chooses a file, and sends it; `uploaded` gets the import that it became. */
export function UploadFile({ websiteId, uploaded }: { websiteId: string; uploaded: (id: string) => void }) {
  const [sent, setSent] = useState<{ name: string; fraction: number } | null>(null);
  const [error, setError] = useState("");
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const send = async (file: File | undefined) => {
    if (!file || sent) return;
    setError(file.size ? "" : t.emptyFile(file.name));
    if (input.current && !file.size) input.current.value = "";
    if (!file.size) return;
    setSent({ name: file.name, fraction: 0 });
    const controller = (abort.current = new AbortController());
    let id = "";
    try {
      const name = file.name.slice(0, 200);
      id = (await fetchJson<{ data: Import }>("/v1/imports", { body: { websiteId, name } })).data.id;
      await uploadFile(`/v1/imports/${id}/file`, file, (fraction) => setSent({ name, fraction }), controller.signal);
      uploaded(id);
    } catch (problem) {
      if (!controller.signal.aborted) setError(messageOf(problem as RequestError));
      if (id) await fetchJson(`/v1/imports/${id}`, { method: "DELETE" }).catch(() => undefined);
    }
    setSent(null);
    if (input.current) input.current.value = "";
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void send(event.dataTransfer?.files[0]);
  };
  return (
    <div class={`drop ${over ? "over" : ""}`} onDrop={drop} onDragLeave={() => setOver(false)}
      onDragOver={(event) => { event.preventDefault(); setOver(true); }}>
      {!sent && (
        <>
          <Icon name="upload" size={28} />
          <label class="file">{t.choose}
            <input ref={input} type="file" name="file" onChange={(e) => void send(e.currentTarget.files?.[0])} />
          </label>
          <p class="quiet">{t.formats}</p>
        </>
      )}
      {sent && (
        <>
          <p role="status">{t.uploading(sent.name)}</p>
          <Progress label={t.uploading(sent.name)} fraction={sent.fraction} />
          <button type="button" class="button" onClick={() => abort.current?.abort()}>{texts.filters.cancel}</button>
        </>
      )}
      {error && <p class="error" role="alert">{error}</p>}
    </div>
  );
}

/** Which of the three steps it is at. */
export function ImportSteps({ at }: { at: 0 | 1 | 2 }) {
  return (
    <ol class="import-steps" aria-label={t.steps}>
      {t.stepNames.map((name, i) => (
        <li key={name} class={i < at ? "done" : ""} aria-current={i === at ? "step" : undefined}>
          <span aria-hidden="true">{i < at ? <Icon name="check" size={14} /> : i + 1}</span>{name}
        </li>
      ))}
    </ol>
  );
}

/** One import of an uploaded file, from its check to its result. */
export function UploadedImport({ id, changed, close }: { id: string; changed: () => void; close: () => void }) {
  const [over, setOver] = useState(false);
  const [error, setError] = useState("");
  const heading = useRef<HTMLDivElement>(null);
  const shown = useLoaded(id, (signal) => fetchJson<Schemas["ImportResponse"]>(`/v1/imports/${id}`, { signal }), over ? 0 : SECONDS);
  const one = shown.value?.data;
  const state = one?.state;
  const isStored = state === "done" && (one?.check?.kind === "totals" || (one?.stored ?? 0) >= (one?.accepted ?? 0));
  useEffect(() => {
    setOver(isStored || state === "failed" || state === "undone");
    if (state) changed();
  }, [state, isStored]);
  useEffect(() => heading.current?.focus(), [one === undefined]);
  const act = async (path: string, method: string) => {
    setError("");
    try {
      await fetchJson(`/v1/imports/${id}${path}`, { method });
      if (method === "DELETE") close();
      else shown.reload();
      changed();
    } catch (problem) {
      setError(messageOf(problem as RequestError));
    }
  };
  if (!one) return shown.error ? <Card title={moreTexts.setup.importFile}><p class="error" role="alert">{messageOf(shown.error)}</p></Card> : null;
  const { state: now, accepted, rejected, stored = 0, fraction, check } = one;
  const messages: Record<string, string> = {
    checking: t.checking,
    checked: t.checked,
    importing: t.importing(formatNumber(accepted), formatNumber(rejected)),
    done: isStored ? (check?.kind === "totals" ? t.doneTotals(formatNumber(stored)) : t.done(accepted, formatNumber(accepted))) : t.storing(formatNumber(stored), formatNumber(accepted)),
  };
  return (
    <Card title={t.of(one.name)} className="commands">
      <ImportSteps at={now === "importing" || now === "done" ? 2 : 1} />
      <div ref={heading} tabIndex={-1} class="import-state">
        <p role="status" class={isStored ? "stored" : undefined}>{messages[now] ?? moreTexts.setup.importStates[now]}</p>
        {fraction !== undefined && <Progress label={messages[now]!} fraction={fraction} />}
        {one.problem && <p class="error" role="alert">{one.problem}</p>}
      </div>
      {error && <p class="error" role="alert">{error}</p>}
      <p class="actions">
        {now === "checked" && check && (
          <button type="button" class="button primary" onClick={() => void act("/start", "POST")}>{check.kind === "totals" ? t.startTotals : t.start(formatNumber(check.accepted))}</button>
        )}
        {now === "done" && check && <FirstDay check={check} />}
        {isUnderWay(one) && <button type="button" class="button" onClick={() => void act("", "DELETE")}>{t.discard}</button>}
        <button type="button" class="button" onClick={close}>{texts.dialog.close}</button>
      </p>
      {check && <CheckResult check={check} isOver={now === "done"} />}
    </Card>
  );
}

function FirstDay({ check }: { check: Check }) {
  const href = addressWith({ view: "overview", period: { start: check.firstDay, end: check.firstDay }, filters: [] });
  return <a class="button primary" href={href} onClick={follow}>{t.firstDay}</a>;
}

function CheckResult({ check, isOver }: { check: Check; isOver: boolean }) {
  const days = Object.entries(check.days);
  const isTotals = check.kind === "totals";
  const [byDay, byMonth] = isTotals ? [t.rowsByDay, t.rowsByMonth] : [t.byDay, t.byMonth];
  return (
    <>
      {isTotals && <p>{t.totals}</p>}
      {check.importedAs && <p class="notice">{t.importedBefore(check.importedAs)}</p>}
      <div class="import-parts">
        <section class="import-part" aria-label={t.inIt}>
          <h3>{t.inIt}</h3>
          <Facts facts={[
            [t.product, check.product],
            [t.recognizedBy, check.recognizedBy.join(", ")],
            [t.days, check.firstDay === check.lastDay ? check.firstDay : `${check.firstDay} – ${check.lastDay}`],
            [t.note, check.note],
          ]} />
        </section>
        <section class="import-part" aria-label={t.taken}>
          <h3>{t.taken}</h3>
          <p><strong class="figure">{formatNumber(check.accepted)}</strong> {isTotals ? t.lines : t.events}</p>
          {!isOver && <Counts label={isTotals ? t.dimensions : t.names} of={isTotals ? t.dimension : t.name} counts={check.names} />}
        </section>
        <section class="import-part" aria-label={t.notTaken}>
          <h3>{t.notTaken}</h3>
          <p><strong class="figure">{formatNumber(check.rejected)}</strong> {t.rejected}</p>
          <Counts label={t.reasons} of={t.reason} counts={check.reasons} />
          <Counts label={t.unreadable} of={t.field} counts={check.factsLeftOut} />
          <Facts facts={[[t.ignored, check.ignoredColumns.join(", ")], [t.leftOut, check.filesLeftOut.join(", ")]]} />
        </section>
      </div>
      {!isOver && (
        <>
          <Rows label={isTotals ? t.firstRows : t.rows} rows={check.rows} />
          <div class="import-parts">
            <Counts label={days.every(([day]) => isDay(day)) ? byDay : byMonth} of={t.day} counts={check.days} />
            {Object.keys(check.columns).length > 0 && (
              <Titled label={t.columns}>
                <DataTable label={t.columns} rows={Object.entries(check.columns)} className="scrolled" columns={[
                  { key: "column", label: t.column, render: ([column]) => column },
                  { key: "field", label: t.field, render: ([, field]) => field },
                ]} />
              </Titled>
            )}
          </div>
        </>
      )}
    </>
  );
}

function Titled({ label, children }: { label: string; children: ComponentChildren }) {
  return <div><h3>{label}</h3>{children}</div>;
}

function Counts({ label, of, counts }: { label: string; of: string; counts: Record<string, number> }) {
  const rows = Object.entries(counts);
  if (!rows.length) return null;
  return (
    <Titled label={label}>
      <DataTable label={label} rows={rows} className="scrolled" columns={[
        { key: "name", label: of, className: "breakable", render: ([name]) => name },
        { key: "count", label: t.count, number: true, render: ([, count]) => formatNumber(count) },
      ]} />
    </Titled>
  );
}

/** The first events or totals as they will be: a column for each field that one of them has. */
function Rows({ label, rows }: { label: string; rows: Check["rows"] }) {
  const fields = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (!fields.length) return null;
  return (
    <Titled label={label}>
      <DataTable label={label} rows={rows} className="many all" columns={fields.map((field) => ({
        key: field, label: field, render: (row: Record<string, unknown>) => cell(row[field]),
      }))} />
    </Titled>
  );
}

const cell = (value: unknown): string => (value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

function Progress({ label, fraction }: { label: string; fraction: number }) {
  return (
    <div class="progress">
      <progress aria-label={label} value={fraction} max={1} />
      <span class="quiet">{formatPercent(100 * fraction, 0)}</span>
    </div>
  );
}
