// Money: which property of which event is an amount. Goals, which belong beside it, have a view of their own.
import { useState } from "preact/hooks";
import { fetchAll } from "../../api/pages";
import { fetchJson } from "../../api/request";
import { may, subjectQuery } from "../../api/session";
import { useLoaded } from "../../api/use";
import { addressWith, follow } from "../../state/address";
import { texts } from "../../texts";
import { moreTexts } from "../../texts.more";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { Icon } from "../icon";
import type { Money } from "../money";
import { Async } from "../states";
import { FormDialog, type Input } from "./form_dialog";

const t = moreTexts.setup.money;

export function MoneyProperties() {
  const query = subjectQuery.value;
  const list = useLoaded(JSON.stringify(query), (signal) => fetchAll<Money>("/v1/money", query, signal));
  const [edited, setEdited] = useState<Money | "new" | null>(null);
  const [asked, setAsked] = useState<Money | null>(null);
  const done = () => {
    setEdited(null);
    list.reload();
  };
  const remove = async ({ id }: Money) => {
    await fetchJson(`/v1/money/${id}`, { method: "DELETE" });
    done();
  };
  return (
    <>
      <Card title={t.title} actions={may("manage:websites") && (
        <button type="button" class="button" onClick={() => setEdited("new")}><Icon name="plus" />{t.add}</button>)}>
        <p class="quiet card-text">{t.hint}</p>
        <Async loaded={list} lines={2} empty={t.none} isEmpty={(all) => !all.length}>
          {(all) => (
            <DataTable label={t.title} rows={all} rowKey={({ id }) => id} columns={[
              { key: "name", label: moreTexts.setup.name, render: ({ name }) => name },
              { key: "event", label: t.event, className: "breakable", render: ({ event }) => <code>{event}</code> },
              { key: "property", extra: true, label: t.property, className: "breakable", render: ({ property }) => <code>{property}</code> },
              { key: "currency", label: t.currency, render: ({ currency, currencyProperty }) => currency ?? <code>{currencyProperty}</code> },
              { key: "act", label: "", render: (one) => may("manage:websites") && (
                <span class="row-actions">
                  <button type="button" class="quiet-button" aria-label={moreTexts.setup.editOne(one.name)} onClick={() => setEdited(one)}>{moreTexts.setup.edit}</button>
                  <button type="button" class="quiet-button" aria-label={t.removeOne(one.name)} onClick={() => setAsked(one)}>{t.remove}</button>
                </span>) },
            ]} />
          )}
        </Async>
      </Card>
      <Card title={texts.goals.title} actions={<a class="button" href={addressWith({ view: "goals" })} onClick={follow}>{t.openGoals}<Icon name="arrow-right" /></a>}>
        <p class="quiet">{t.goals}</p>
      </Card>
      {edited && <MoneyDialog one={edited === "new" ? null : edited} close={() => setEdited(null)} done={done} />}
      {asked && <ConfirmDialog title={t.removeOne(asked.name)} text={t.confirm} action={t.remove} run={() => remove(asked)} close={() => setAsked(null)} />}
    </>
  );
}

function MoneyDialog({ one, close, done }: { one: Money | null; close: () => void; done: () => void }) {
  const inputs: Input[] = [
    { name: "name", label: moreTexts.setup.name, value: one?.name, required: true, placeholder: t.namePlaceholder },
    { name: "event", label: t.event, help: t.eventHelp, value: one?.event, required: true, placeholder: "purchase" },
    { name: "property", label: t.property, help: t.propertyHelp, value: one?.property, required: true, placeholder: "properties.total" },
    { name: "currency", label: t.currency, help: t.currencyHelp, value: one?.currency ?? "", placeholder: "EUR" },
    { name: "currencyProperty", label: t.currencyProperty, help: t.currencyPropertyHelp, value: one?.currencyProperty ?? "", placeholder: "properties.currency" },
  ];
  const path = one ? `/v1/money/${one.id}` : `/v1/money?website_id=${encodeURIComponent(subjectQuery.value.website_id!)}`;
  return (
    <FormDialog title={one ? moreTexts.setup.editOne(one.name) : t.add} inputs={inputs} close={close} done={done} method={one ? "PATCH" : "POST"} path={path}
      body={({ name, event, property, currency, currencyProperty }) => ({
        name, event, property, currency: currency?.trim().toUpperCase() || null, currencyProperty: currencyProperty?.trim() || null,
      })} />
  );
}
