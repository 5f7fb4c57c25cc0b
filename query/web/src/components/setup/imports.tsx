// Imports of historical data: a file that is uploaded, the commands for others, and all with their progress; each can be undone.
import { useState } from "preact/hooks";
import { fetchAll } from "../../api/pages";
import { fetchJson } from "../../api/request";
import { subjectQuery, timezone } from "../../api/session";
import { useLoaded } from "../../api/use";
import { address, goOwn } from "../../state/address";
import { formatInstant, formatNumber } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Snippet } from "../request_dialog";
import { Async } from "../states";
import { ImportSteps, isUnderWay, UploadedImport, UploadFile } from "./import_upload";

type Import = Schemas["ImportResource"];
const t = moreTexts.setup;
const SECONDS = 5;

export function Imports() {
  const websiteId = subjectQuery.value.website_id!;
  const list = useLoaded(websiteId, async (signal) =>
    (await fetchAll<Import>("/v1/imports", { websiteId }, signal)).reverse(), SECONDS); // the newest first
  const [asked, setAsked] = useState<Import | null>(null);
  const opened = address.value.own.import;
  const open = (id: string) => goOwn({ import: id });
  const undo = async (one: Import) => {
    await fetchJson(`/v1/imports/${one.id}`, { method: "DELETE" });
    list.reload();
  };
  return (
    <>
      {opened
        ? <UploadedImport key={opened} id={opened} changed={list.reload} close={() => open("")} />
        : <Card title={t.importFile} className="commands">
          <ImportSteps at={0} />
          <p class="quiet card-text">{t.importHint}</p>
          <UploadFile key={websiteId} websiteId={websiteId} uploaded={open} />
        </Card>}
      <Card title={t.imports}>
        <Async loaded={list} empty={t.noImports} isEmpty={(all) => !all.length}>
          {(all) => (
            <DataTable label={t.imports} rows={all} rowKey={({ id }) => id} columns={[
              { key: "name", label: t.file, className: "breakable", render: (one) => one.name },
              { key: "state", label: t.state, className: "import-word", render: (one) => t.importStates[one.state] ?? one.state },
              { key: "accepted", label: t.accepted, number: true, render: (one) => formatNumber(one.accepted) },
              { key: "rejected", extra: true, label: t.rejected, number: true, render: (one) => formatNumber(one.rejected) },
              { key: "removed", extra: true, label: t.removed, number: true, render: (one) => formatNumber(one.removed) },
              { key: "at", extra: true, label: t.at, render: (one) => formatInstant(one.createdAt, timezone.value) },
              { key: "undo", label: "", render: (one) => (isUnderWay(one) ? (
                <button type="button" class="quiet-button" aria-label={t.upload.openOne(one.name)} onClick={() => open(one.id)}>{t.upload.open}</button>
              ) : (one.state === "open" || one.state === "done") && (
                <button type="button" class="quiet-button" aria-label={t.undoOne(one.name)} onClick={() => setAsked(one)}>{t.undo}</button>)) },
            ]} />
          )}
        </Async>
        {asked && <UndoImport one={asked} run={() => undo(asked)} close={() => setAsked(null)} />}
      </Card>
      <ByCommand websiteId={websiteId} />
    </>
  );
}

/** Whether it stored totals, which are rows and no events: a file of events has lines that are accepted or rejected. */

/** Asks before an import is undone, with the number of its events as soon as they are counted. */
function UndoImport({ one, run, close }: { one: Import; run: () => Promise<void>; close: () => void }) {
  const counted = useLoaded(one.id, (signal) => fetchJson<Schemas["ImportResponse"]>(`/v1/imports/${one.id}`, { signal }));
  const stored = counted.value?.data.stored;
  const events = stored === undefined ? t.allEvents : t.someEvents(stored, formatNumber(stored));
  return <ConfirmDialog title={t.undoOne(one.name)} text={t.confirmUndo(one.name, events)} action={t.undo} run={run} close={close} />;
}

/** The commands that import a file into the website, with choices that the page does not have. */
function ByCommand({ websiteId }: { websiteId: string }) {
  const command = `tidemark import FILE --website ${websiteId}`;
  return (
    <Card title={t.importByCommand} className="commands">
      <p>{t.importCommandHint}</p>
      <Snippet label={t.importCheck} text={`${command} --check`} />
      <Snippet label={t.importSend} text={command} />
      <p class="quiet">{t.importNote}</p>
    </Card>
  );
}
