// Which pages visits view one after the other: from the entry page, from a page, or to a page.
import { useMemo, useState } from "preact/hooks";
import type { Ask } from "../api/ask";
import { isShared } from "../api/session";
import { useAnswer } from "../api/use";
import { Card } from "../components/card";
import { type Column, DataTable, Pages } from "../components/data_table";
import { FlowChart } from "../components/flow_chart";
import { FlowDetails } from "../components/flow_details";
import { Async } from "../components/states";
import { VISITOR_FILE, visitorsAsk, VisitorTable } from "../components/visitor_table";
import { VisitorsButton } from "../components/visitors_button";
import { address, goOwn } from "../state/address";
import type { FileColumn } from "../state/csv";
import { findNode, type Flow, type FlowNode, flowOf, folderOf, formatNode, pagesOf } from "../state/flow";
import { formatNumber, formatPercent } from "../state/format";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Row } from "../types";

const MOST_PATHS = 2000;
const ROWS = 20;
const SUGGESTED = 100;
const STEPS = ["3", "4", "5", "6"];
const DEFAULT_STEPS = "4";
const t = moreTexts.paths;
const m = texts.metrics;

const FILE: FileColumn[] = [
  { field: "name", label: t.path },
  { field: "sessions", label: m.visits },
  { field: "percentage", label: texts.download.percent(m.percentage) },
  { field: "visitors", label: m.visitors },
];

export default function Paths() {
  const { own } = address.value;
  const steps = Number(STEPS.includes(own.steps ?? "") ? own.steps : DEFAULT_STEPS);
  const options = { max_steps: steps, ...(own.from ? { from: own.from } : {}), ...(own.to ? { to: own.to } : {}) };
  const ask: Ask<"paths"> = { name: "paths", options: { ...options, limit: MOST_PATHS } };
  const loaded = useAnswer(ask);
  const rows = loaded.value?.rows;
  const byFolder = own.folders === "1";
  const flow = useMemo(() => {
    const pages = (name: string) => (byFolder ? pagesOf(name).map(folderOf) : pagesOf(name));
    const counted = (rows ?? []).map((row) => ({ pages: pages(row.name), sessions: row.sessions }));
    return flowOf(counted, { steps, toEnd: Boolean(own.to) && !own.from, ends: !own.to });
  }, [rows, steps, own.from, own.to, byFolder]);
  return (
    <>
      <Choices steps={String(steps)} />
      <Card title={t.title} ask={ask} fields={FILE} className="wide" actions={(
        <label class="check"><input type="checkbox" checked={byFolder} onChange={(event) => goOwn({ folders: event.currentTarget.checked ? "1" : "", node: "" })} />{t.byFolder}</label>
      )}>
        <Async loaded={loaded} lines={12} isEmpty={(value) => !value.rows.length}>
          {(value) => (
            <>
              <FlowPart flow={flow} byFolder={byFolder} />
              <p class="quiet"><span class="phone-only">{t.note} </span>{byFolder && `${t.folderNote} `}{value.total > value.rows.length && t.most(formatNumber(value.rows.length), formatNumber(value.total))}</p>
            </>
          )}
        </Async>
      </Card>
      <Card title={t.table} heading={loaded.value ? t.count(loaded.value.total, formatNumber(loaded.value.total)) : undefined} ask={ask} file={FILE} className="wide">
        <Async loaded={loaded} lines={8} isEmpty={(value) => !value.rows.length}>
          {(value) => <PathTable rows={value.rows} />}
        </Async>
      </Card>
      {own.path && !isShared() && <PathVisitors path={own.path} options={options} />}
    </>
  );
}

/** The picture, and what is known of the page that the pointer, the focus or a click is on. */
function FlowPart({ flow, byFolder }: { flow: Flow; byFolder: boolean }) {
  const { own } = address.value;
  const [over, setOver] = useState<FlowNode | null>(null);
  const pinned = own.node ? findNode(flow, own.node) : undefined;
  const pin = (node: FlowNode | null) => goOwn({ node: node ? formatNode(node) : "" }, { replace: true });
  const choose = (ends: Record<string, string>) => goOwn({ from: "", to: "", ...ends, node: "", path: "", page: "" });
  const shown = over && flow.columns[over.column]?.includes(over) ? over : (pinned ?? null);
  const page = shown === pinned && !byFolder ? pinned?.page : null;
  return (
    <FlowChart flow={flow} pinned={pinned} pin={pin} over={shown === pinned ? null : shown} setOver={setOver} details={(
      <FlowDetails flow={flow} node={shown} actions={pinned && shown === pinned && (
        <>
          {page && <button type="button" class="button" onClick={() => choose({ from: page })}>{t.pathsFrom}</button>}
          {page && <button type="button" class="button" onClick={() => choose({ to: page })}>{t.pathsTo}</button>}
          <button type="button" class="quiet-button" onClick={() => pin(null)}>{t.unpin}</button>
        </>
      )} />
    )} />
  );
}

function Choices({ steps }: { steps: string }) {
  const { own } = address.value;
  const pages = useAnswer({ name: "top_pages", options: { limit: SUGGESTED } });
  const choose = (changes: Record<string, string>) => goOwn({ ...changes, node: "", path: "", page: "" });
  return (
    <form class="choices" onSubmit={(event) => event.preventDefault()}>
      <label>{t.from}<PageInput key={own.from} value={own.from ?? ""} none={t.entry} choose={(from) => choose({ from })} /></label>
      <label>{t.to}<PageInput key={own.to} value={own.to ?? ""} none={t.anywhere} choose={(to) => choose({ to })} /></label>
      <label>{t.steps}
        <select value={steps} onChange={(event) => choose({ steps: event.currentTarget.value })}>
          {STEPS.map((each) => <option key={each} value={each}>{each}</option>)}
        </select>
      </label>
      {(own.from || own.to) && <button type="button" class="button" onClick={() => choose({ from: "", to: "" })}>{t.reset}</button>}
      <datalist id="known-pages">{pages.value?.rows.map((row) => <option key={row.name} value={row.name} />)}</datalist>
    </form>
  );
}

function PageInput({ value, none, choose }: { value: string; none: string; choose: (page: string) => void }) {
  return (
    <input type="text" list="known-pages" defaultValue={value} placeholder={none} autocomplete="off" spellcheck={false}
      onChange={(event) => choose(event.currentTarget.value.trim())} />
  );
}

const COLUMNS: Column<Row<"paths">>[] = [
  { key: "name", label: t.path, className: "path", render: (row) => row.name },
  { key: "sessions", label: m.visits, number: true, render: (row) => formatNumber(row.sessions) },
  { key: "percentage", label: m.percentage, number: true, render: (row) => formatPercent(row.percentage ?? 0, 2) },
  {
    key: "visitors", label: m.visitors, number: true, render: (row) => (
      <VisitorsButton class="link-button" label={t.showVisitors(formatNumber(row.visitors), row.name)}
        open={() => goOwn({ path: row.name, page: "", sort: "" })}>{formatNumber(row.visitors)}</VisitorsButton>
    ),
  },
];

function PathTable({ rows }: { rows: Row<"paths">[] }) {
  const page = Math.max(1, Number(address.value.own.paths) || 1);
  return (
    <>
      <DataTable label={t.table} columns={COLUMNS} rows={rows.slice(ROWS * (page - 1), ROWS * page)} rowKey={(row) => row.name} />
      <Pages page={page} total={rows.length} size={ROWS} go={(to) => goOwn({ paths: to > 1 ? String(to) : "" })} />
    </>
  );
}

function PathVisitors({ path, options }: { path: string; options: Record<string, unknown> }) {
  const ask = visitorsAsk({ name: "visitors", of: { name: "paths", ...options, path } });
  const loaded = useAnswer(ask);
  const title = t.visitorsOf(path);
  return (
    <Card title={title} ask={ask} file={VISITOR_FILE} className="wide"
      actions={<button type="button" class="quiet-button" onClick={() => goOwn({ path: "" })}>{texts.dialog.close}</button>}>
      <VisitorTable loaded={loaded} label={title} />
    </Card>
  );
}
