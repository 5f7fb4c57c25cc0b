// Rights of visitors: export what is stored about a person, count it, erase it.
import { useState } from "preact/hooks";
import { fetchJson, type RequestError, send } from "../../api/request";
import { may, mayEverywhere, me, subjectQuery, website } from "../../api/session";
import { useLoaded } from "../../api/use";
import { address, goOwn } from "../../state/address";
import { formatNumber } from "../../state/format";
import { moreTexts } from "../../texts.more";
import { Card } from "../card";
import { ConfirmDialog } from "../confirm_dialog";
import { DataTable } from "../data_table";
import { save } from "../download";
import { Async, messageOf } from "../states";
import { type Erasure, Erasures, Report, tableText } from "./erasures";
import { NeedsScope } from "./needs_scope";

const t = moreTexts.setup.rights;
const ERASE = "erase:visitors";
const SECONDS = 1;
const SELECTORS = ["visitor", "profile", "session", "property"] as const;
type Selector = (typeof SELECTORS)[number];
const EXPORTED: Selector[] = ["visitor", "profile"];

interface Person {
  selector: Selector;
  /** Of the property. */
  name: string;
  value: string;
  /** All websites and links of the organization. */
  everywhere: boolean;
}

const bodyOf = ({ selector, name, value, everywhere }: Person, dryRun: boolean) => ({
  ...(everywhere ? { organizationId: me.value!.organization!.id } : { websiteId: website.value!.id }),
  [selector]: selector === "property" ? { name, value } : value,
  dryRun,
});

const createErasure = async (person: Person, dryRun: boolean): Promise<string> =>
  (await fetchJson<{ data: Erasure }>("/v1/erasures", { body: bodyOf(person, dryRun) })).data.id;

export function VisitorRights() {
  const { erasure } = address.value.own;
  if (erasure) return <Report key={erasure} id={erasure} />;
  return (
    <>
      <OnePerson />
      {may(ERASE) && <Erasures />}
    </>
  );
}

function OnePerson() {
  const [person, setPerson] = useState<Person>({ selector: "visitor", name: "", value: "", everywhere: false });
  const [dryRun, setDryRun] = useState<string | null>(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const { selector, name, value, everywhere } = person;
  const isWhole = mayEverywhere("manage:websites");
  const change = (changes: Partial<Person>) => {
    setPerson({ ...person, ...changes });
    setDryRun(null);
    setError("");
  };
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setError("");
    await work().catch((problem) => setError(messageOf(problem as RequestError)));
    setBusy(false);
  };
  const count = (event: Event) => {
    event.preventDefault();
    if (may(ERASE)) void attempt(async () => setDryRun(await createErasure(person, true)));
  };
  const download = () => attempt(async () => {
    const response = await send("/v1/person/export", { query: { ...subjectQuery.value, [selector]: value } });
    save(await response.blob(), "person.zip");
  });
  const erase = async () => goOwn({ erasure: await createErasure(person, false) });
  return (
    <Card title={t.title}>
      <p class="quiet card-text">{t.intro}</p>
      <form class="choices long" onSubmit={count}>
        <label>{t.selector}
          <select name="selector" value={selector} onChange={(e) => change({ selector: e.currentTarget.value as Selector })}>
            {SELECTORS.map((each) => <option key={each} value={each}>{t.selectors[each]}</option>)}
          </select>
        </label>
        {selector === "property" && (
          <label>{t.property}
            <input name="name" required value={name} placeholder="email" onInput={(e) => change({ name: e.currentTarget.value })} />
          </label>
        )}
        <label>{t.value}
          <input name="value" required autocomplete="off" value={value} onInput={(e) => change({ value: e.currentTarget.value })} />
        </label>
        {isWhole && (
          <label>{t.of}
            <select name="of" value={everywhere ? "all" : "one"} onChange={(e) => change({ everywhere: e.currentTarget.value === "all" })}>
              <option value="one">{website.value?.name || website.value?.domain}</option>
              <option value="all">{t.everywhere}</option>
            </select>
          </label>
        )}
        <span class="row-actions">
          {may(ERASE) && <button type="submit" class="button primary" disabled={busy}>{t.count}</button>}
          {EXPORTED.includes(selector) && !everywhere && (
            <button type="button" class="button" disabled={busy || !value} onClick={() => void download()}>{t.download}</button>)}
        </span>
      </form>
      {error && <p class="error" role="alert">{error}</p>}
      {!may(ERASE) && <NeedsScope scope={ERASE} />}
      {dryRun && <Counted key={dryRun} id={dryRun} value={value} erase={erase} />}
    </Card>
  );
}

/** What an erasure would remove, counted by the service within seconds; then it can be confirmed. */
function Counted({ id, value, erase }: { id: string; value: string; erase: () => Promise<void> }) {
  const [isCounting, setCounting] = useState(true);
  const [asked, setAsked] = useState(false);
  const dryRun = useLoaded(id, async (signal) => {
    const { data } = await fetchJson<{ data: Erasure }>(`/v1/erasures/${id}`, { signal });
    setCounting(data.state === "counting");
    return data;
  }, isCounting ? SECONDS : 0);
  return (
    <Async loaded={dryRun} lines={2}>
      {({ report }) => (isCounting ? <p role="status">{t.counting}</p> : (
        <>
          <p role="status">{t.counted}</p>
          <RowsByTable label={t.counted} rows={report.rows ?? {}} />
          <p><button type="button" class="button danger" onClick={() => setAsked(true)}>{t.erase} …</button></p>
          {asked && (
            <ConfirmDialog title={t.erase} text={t.confirm} typed={value} action={t.erase} run={erase} close={() => setAsked(false)} />
          )}
        </>
      ))}
    </Async>
  );
}

function RowsByTable({ label, rows }: { label: string; rows: Record<string, number> }) {
  const found = Object.entries(rows).filter(([, count]) => count > 0);
  if (!found.length) return <p class="empty">{t.nothing}</p>;
  return (
    <DataTable label={label} rows={found} rowKey={([table]) => table} columns={[
      { key: "table", label: moreTexts.setup.table, render: ([table]) => tableText(table) },
      { key: "rows", label: t.rows, number: true, render: ([, count]) => formatNumber(count) },
    ]} />
  );
}
