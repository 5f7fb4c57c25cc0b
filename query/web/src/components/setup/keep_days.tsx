// Days to keep, by table: of a website, or of the organization.
import { useState } from "preact/hooks";
import { fetchJson } from "../../api/request";
import { me } from "../../api/session";
import { formatDay, formatNumber } from "../../state/format";
import { moreTexts } from "../../texts.more";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { type Column, DataTable } from "../data_table";
import { tableText } from "./erasures";

const t = moreTexts.setup.keep;
const ALL = "all";
const TABLES = ["events", "vitals", "errors", "engagement", "identities", "imported_totals"];
type Days = Record<string, number>;

export function KeepDays({ path, keepDays, inherited, keptFrom, websiteId, mayChange, done }: {
  /** Of the website or the organization. */
  path: string;
  keepDays: Days;
  /** Those of the organization of a website, where they are known. */
  inherited?: Days;
  /** The first day that is kept, by table. */
  keptFrom?: Record<string, string>;
  /** Without it they are the organization's. */
  websiteId?: string;
  mayChange: boolean;
  done: () => void;
}) {
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(Object.entries(keepDays).map(([table, days]) => [table, String(days)])));
  const [asked, setAsked] = useState(false);
  const tables = [ALL, ...TABLES, ...(websiteId ? [] : ["clicks"])];
  const given = Object.fromEntries(tables.filter((table) => values[table]).map((table): [string, number] => [table, Number(values[table])]));
  const saved = async () => {
    await fetchJson(path, { method: "PATCH", body: { keepDays: given } });
    done();
  };
  const ask = (event: Event) => {
    event.preventDefault();
    setAsked(true);
  };
  const columns: Column<string>[] = [
    { key: "table", label: moreTexts.setup.table, render: nameOf },
    { key: "days", label: t.days, render: (table) => mayChange ? (
      <input name={table} class="days" type="number" min={1} max={36_500} step={1} aria-label={t.daysOf(nameOf(table))} value={values[table] ?? ""}
        placeholder="–" onInput={(e) => setValues((old) => ({ ...old, [table]: e.currentTarget.value }))} />
    ) : shown(keepDays[table]) },
    ...(inherited ? [{ key: "inherited", extra: true, label: moreTexts.setup.organization, number: true, render: (table: string) => shown(inherited[table]) }] : []),
    ...(keptFrom ? [{ key: "from", label: t.keptFrom, render: (table: string) =>
      (table === ALL ? "" : keptFrom[table] ? formatDay(keptFrom[table]!) : t.always) }] : []),
  ];
  const options = Object.entries(given).map(([table, days]) => ` --keep-days ${table === ALL ? "" : `${table}=`}${days}`).join("");
  return (
    <Card title={t.title}>
      <p class="quiet card-text">{websiteId ? t.ofWebsite : t.ofOrganization} {bounds()}</p>
      <form class="form" onSubmit={ask}>
        <DataTable label={t.title} rows={tables} rowKey={(table) => table} columns={columns} />
        {mayChange && <p><button type="submit" class="button primary">{moreTexts.setup.save} …</button></p>}
      </form>
      {websiteId && options && <p class="quiet card-note">{t.preview} <code>{`tidemark retention --website ${websiteId}${options}`}</code></p>}
      {asked && <ConfirmDialog title={t.title} text={Object.keys(given).length ? t.confirm(daysText(given)) : t.confirmNone} action={moreTexts.setup.save}
        run={saved} close={() => setAsked(false)} />}
    </Card>
  );
}

const nameOf = (table: string): string => (table === ALL ? t.all : tableText(table));
const shown = (days: number | undefined): string => (days === undefined ? "–" : formatNumber(days));
const daysText = (days: Days): string => Object.entries(days).map(([table, value]) => `${nameOf(table)}: ${formatNumber(value)}`).join(", ");

/** The operator's bounds. */
function bounds(): string {
  const { minimum, maximum } = me.value?.keepBounds ?? { minimum: 0, maximum: 0 };
  return [minimum && t.minimum(formatNumber(minimum)), maximum && t.maximum(formatNumber(maximum))].filter(Boolean).join(" ");
}
