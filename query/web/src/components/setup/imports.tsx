// Imports of historical data: the commands for one, and all of them with their progress; each can be undone.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import type { Schemas } from "../../api/types";
import { useLoaded } from "../../api/use";
import { subjectQuery, timezone } from "../../app/session";
import { formatInstant, formatNumber } from "../../format";
import { texts } from "../../texts";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Snippet } from "../request_dialog";
import { Async } from "../states";

type Import = Schemas["ImportResource"];
const t = texts.setup;
const SECONDS = 5;

export function Imports() {
  const websiteId = subjectQuery.value.website_id!;
  const list = useLoaded(websiteId, (signal) =>
    fetchJson<Schemas["ImportListResponse"]>("/v1/imports", { query: { websiteId, limit: "100" }, signal }), SECONDS);
  const [asked, setAsked] = useState<Import | null>(null);
  const undo = async (one: Import) => {
    await fetchJson(`/v1/imports/${one.id}`, { method: "DELETE" });
    list.reload();
  };
  return (
    <>
      <Card title={t.imports}>
        <Async loaded={list} empty={t.noImports} isEmpty={({ data }) => !data.length}>
          {({ data }) => (
            <DataTable label={t.imports} rows={data} rowKey={({ id }) => id} columns={[
              { key: "name", label: t.file, render: (one) => one.name },
              { key: "state", label: t.state, render: (one) => t.importStates[one.state] ?? one.state },
              { key: "accepted", label: t.accepted, number: true, render: (one) => formatNumber(one.accepted) },
              { key: "rejected", extra: true, label: t.rejected, number: true, render: (one) => formatNumber(one.rejected) },
              { key: "removed", extra: true, label: t.removed, number: true, render: (one) => formatNumber(one.removed) },
              { key: "at", extra: true, label: t.at, render: (one) => formatInstant(one.createdAt, timezone.value) },
              { key: "undo", label: "", render: (one) => (one.state === "open" || one.state === "done") && (
                <button type="button" class="quiet-button" aria-label={t.undoOne(one.name)} onClick={() => setAsked(one)}>{t.undo}</button>) },
            ]} />
          )}
        </Async>
        {asked && (
          <ConfirmDialog title={t.undoOne(asked.name)} text={t.confirmUndo(asked.name)} action={t.undo}
            run={() => undo(asked)} close={() => setAsked(null)} />
        )}
      </Card>
      <NewImport websiteId={websiteId} />
    </>
  );
}

/** The commands that import a file into the website; the page does not send files itself. */
function NewImport({ websiteId }: { websiteId: string }) {
  const command = `tidemark import FILE --website ${websiteId}`;
  return (
    <Card title={t.importFile} className="commands">
      <p>{t.importHint}</p>
      <Snippet label={t.importCheck} text={`${command} --dry-run`} />
      <Snippet label={t.importSend} text={command} />
      <p class="quiet">{t.importNote}</p>
    </Card>
  );
}
