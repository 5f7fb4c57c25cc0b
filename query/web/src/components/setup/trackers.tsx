// Ids by which trackers of other products name the website: add one, remove one.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { may } from "../../api/session";
import { useLoaded } from "../../api/use";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { Copyable } from "../copy";
import { DataTable } from "../data_table";
import { Icon } from "../icon";
import { Async } from "../states";
import { FormDialog } from "./form_dialog";

type Alias = Schemas["AliasResource"];
const t = moreTexts.setup.trackers;
const PRODUCTS = Object.entries(t.products).map(([value, label]) => ({ value, label }));
const titleOf = ({ product, name }: Alias): string => `${t.products[product] ?? product}, ${name}`;

export function Trackers({ id }: { id: string }) {
  const list = useLoaded(id, (signal) => fetchJson<Schemas["AliasListResponse"]>("/v1/aliases", { query: { website_id: id, limit: "100" }, signal }));
  const [adding, setAdding] = useState(false);
  const [asked, setAsked] = useState<Alias | null>(null);
  const remove = async (alias: Alias) => {
    await fetchJson(`/v1/aliases/${alias.id}`, { method: "DELETE" });
    list.reload();
  };
  const add = may("manage:websites") && <button type="button" class="button" onClick={() => setAdding(true)}><Icon name="plus" />{t.add}</button>;
  return (
    <Card title={t.title} actions={add}>
      <p class="quiet">{t.hint} <code class="nowrap">tidemark adopt</code></p>
      <Async loaded={list} lines={2} empty={t.none} isEmpty={({ data }) => !data.length}>
        {({ data }) => (
          <DataTable label={t.title} rows={data} rowKey={(alias) => alias.id} columns={[
            { key: "product", label: t.product, render: ({ product }) => t.products[product] ?? product },
            { key: "name", label: t.name, className: "breakable", render: ({ name }) => <Copyable text={name} /> },
            { key: "remove", label: "", render: (alias) => may("manage:websites") && (
              <button type="button" class="quiet-button" aria-label={t.removeOne(titleOf(alias))} onClick={() => setAsked(alias)}>{t.remove}</button>) },
          ]} />
        )}
      </Async>
      {adding && (
        <FormDialog<Schemas["AliasResponse"]> title={t.add} method="POST" path={`/v1/aliases?website_id=${encodeURIComponent(id)}`}
          close={() => setAdding(false)} submit={t.add} done={() => { setAdding(false); list.reload(); }}
          inputs={[
            { name: "product", label: t.product, value: "segment", choices: PRODUCTS },
            { name: "name", label: t.name, required: true },
          ]}
          body={({ product, name }) => ({ product, name })} />
      )}
      {asked && (
        <ConfirmDialog title={t.removeOne(titleOf(asked))} text={t.confirm} action={t.remove} run={() => remove(asked)} close={() => setAsked(null)} />
      )}
    </Card>
  );
}
