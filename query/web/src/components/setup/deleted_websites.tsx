// Deleted websites, which can be restored until their rows are purged.
import { useEffect, useState } from "preact/hooks";
import { fetchNewest } from "../../api/pages";
import { fetchJson } from "../../api/request";
import { mayEverywhere, timezone } from "../../api/session";
import { useLoaded } from "../../api/use";
import { formatInstant } from "../../state/format";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { Copyable } from "../copy";
import { DataTable } from "../data_table";

type Deleted = Schemas["DeletedWebsite"];
const t = moreTexts.setup.deleted;

/** Nothing where none is deleted; `changes` counts what was done to the others. */
export function DeletedWebsites({ changes, restored }: { changes: number; restored: () => Promise<void> }) {
  const maySee = mayEverywhere("manage:websites");
  const list = useLoaded(maySee ? "deleted" : null, (signal) => fetchNewest<Deleted>("/v1/deleted-websites", {}, signal));
  const [asked, setAsked] = useState<Deleted | null>(null);
  useEffect(() => void (changes && list.reload()), [changes]);
  const restore = async ({ id }: Deleted) => {
    await fetchJson(`/v1/websites/${id}/restore`, { method: "POST" });
    list.reload();
    await restored();
  };
  if (!list.value?.length) return null;
  return (
    <Card title={t.title}>
      <DataTable label={t.title} rows={list.value} rowKey={({ id }) => id} columns={[
        { key: "name", label: moreTexts.setup.name, render: ({ name }) => name },
        { key: "id", extra: true, label: moreTexts.setup.id, render: ({ id }) => <Copyable text={id} /> },
        { key: "at", extra: true, label: t.at, render: ({ deletedAt }) => formatInstant(deletedAt, timezone.value) },
        { key: "purge", label: t.purge, render: ({ restorable, purgedFrom, purgedAt }) =>
          (restorable ? formatInstant(purgedFrom, timezone.value) : purgedAt ? t.purged : t.purging) },
        { key: "restore", label: "", render: (one) => one.restorable && (
          <button type="button" class="quiet-button" aria-label={t.restoreOne(one.name)} onClick={() => setAsked(one)}>{t.restore}</button>) },
      ]} />
      {asked && <ConfirmDialog title={t.restoreOne(asked.name)} text={t.confirm(asked.name)} kind="primary" action={t.restore}
        run={() => restore(asked)} close={() => setAsked(null)} />}
    </Card>
  );
}
