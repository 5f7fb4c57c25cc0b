// Path groups: pages under one name, by which everything can be grouped and filtered.
import { useState } from "preact/hooks";
import { fetchAll } from "../../api/pages";
import { fetchJson } from "../../api/request";
import { mayWriteRecords, subjectQuery } from "../../api/session";
import { useLoaded } from "../../api/use";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Icon } from "../icon";
import { Async } from "../states";
import { FormDialog, type Input } from "./form_dialog";

type Group = Schemas["PathGroupResource"];
const PATH = "/v1/path_groups";
const t = moreTexts.setup.pathGroups;

export function PathGroups() {
  const query = subjectQuery.value;
  const list = useLoaded(JSON.stringify(query), (signal) => fetchAll<Group>(PATH, query, signal));
  const [edited, setEdited] = useState<Group | "new" | null>(null);
  const [asked, setAsked] = useState<Group | null>(null);
  const done = () => {
    setEdited(null);
    list.reload();
  };
  const remove = async ({ id }: Group) => {
    await fetchJson(`${PATH}/${id}`, { method: "DELETE" });
    done();
  };
  return (
    <>
      <Card title={t.title} actions={mayWriteRecords() && (
        <button type="button" class="button" onClick={() => setEdited("new")}><Icon name="plus" />{t.add}</button>)}>
        <p class="quiet card-text">{t.hint}</p>
        <Async loaded={list} lines={2} empty={t.none} isEmpty={(all) => !all.length}>
          {(all) => (
            <DataTable label={t.title} rows={all} rowKey={({ id }) => id} columns={[
              { key: "name", label: moreTexts.setup.name, render: ({ name }) => name },
              { key: "paths", label: t.paths, className: "breakable", render: ({ paths }) => <code>{paths.join(", ")}</code> },
              { key: "act", label: "", render: (one) => mayWriteRecords() && (
                <span class="row-actions">
                  <button type="button" class="quiet-button" aria-label={moreTexts.setup.editOne(one.name)} onClick={() => setEdited(one)}>{moreTexts.setup.edit}</button>
                  <button type="button" class="quiet-button" aria-label={t.removeOne(one.name)} onClick={() => setAsked(one)}>{t.remove}</button>
                </span>) },
            ]} />
          )}
        </Async>
      </Card>
      {edited && <GroupDialog one={edited === "new" ? null : edited} close={() => setEdited(null)} done={done} />}
      {asked && <ConfirmDialog title={t.removeOne(asked.name)} text={t.confirm} action={t.remove} run={() => remove(asked)} close={() => setAsked(null)} />}
    </>
  );
}

function GroupDialog({ one, close, done }: { one: Group | null; close: () => void; done: () => void }) {
  const inputs: Input[] = [
    { name: "name", label: moreTexts.setup.name, value: one?.name, required: true, placeholder: t.namePlaceholder },
    { name: "paths", label: t.paths, help: t.pathsHelp, value: one?.paths.join("\n"), required: true, lines: 5, placeholder: "/blog\n/blog/*" },
  ];
  const path = one ? `${PATH}/${one.id}` : `${PATH}?website_id=${encodeURIComponent(subjectQuery.value.website_id!)}`;
  return (
    <FormDialog title={one ? moreTexts.setup.editOne(one.name) : t.add} inputs={inputs} close={close} done={done} method={one ? "PATCH" : "POST"} path={path}
      body={({ name, paths }) => ({ name, paths: linesOf(paths!) })} />
  );
}

/** Paths may have commas. */
const linesOf = (text: string): string[] => text.split("\n").map((each) => each.trim()).filter(Boolean);
