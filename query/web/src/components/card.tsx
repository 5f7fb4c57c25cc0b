// A titled part of a view.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Ask, bodyOf, isCompared } from "../api/ask";
import { isShared, subjectQuery } from "../api/session";
import { type FileColumn, PREVIOUS } from "../state/csv";
import { texts } from "../texts";
import type { QueryType } from "../types";
import { DownloadCsv, loadCsv } from "./download";
import { Info, typeDefinition } from "./info";
import { MenuItem, Popover } from "./popover";
import { type AnswerField, RequestDialog, type ShownRequest } from "./request_dialog";

const MOST_TABS = 4;
/** Begins a column of a file with the change of a field. */
const CHANGE = "change_percent_";

export interface Tab {
  id: string;
  label: string;
}

export function Card({ title, tabs, tab, onTab, ask, request, definition, file, fields, remark, actions, className = "", children }: {
  title: string;
  tabs?: Tab[];
  tab?: string;
  onTab?: (id: string) => void;
  /** The query behind the card, or another request. */
  ask?: Ask<QueryType>;
  request?: ShownRequest;
  /** What the number means; by default the definition of the query. */
  definition?: string;
  /** The columns of the file with all rows of the query. */
  file?: FileColumn[] | null;
  /** Which field of the answer each number is; by default as in the file. */
  fields?: AnswerField[];
  /** What differs between the numbers of the card and the answer. */
  remark?: string;
  actions?: ComponentChildren;
  className?: string;
  children: ComponentChildren;
}) {
  const means = definition ?? (ask && typeDefinition(ask.name));
  return (
    <section class={`card ${className}`} aria-label={title}>
      <header class="card-head">
        <h2>{title}</h2>
        <Info text={means} title={title} />
        {tabs && onTab && <Tabs tabs={tabs} chosen={tab ?? tabs[0]!.id} choose={onTab} />}
        <span class="card-actions">
          {actions}
          {ask && file && <DownloadCsv title={title} load={() => loadCsv(ask, file)} />}
          <RequestButton ask={ask} request={request} title={title} fields={fields ?? fieldsOf(file ?? [])} remark={remark} />
        </span>
      </header>
      {children}
    </section>
  );
}

/** Shows the request behind a number, by which callers of the API get it; not on a shared dashboard. */
export function RequestButton({ title, ask, request, fields = [], remark, row }: {
  title: string;
  ask?: Ask<QueryType>;
  request?: ShownRequest;
  fields?: AnswerField[];
  remark?: string;
  /** Which of the rows it is about. */
  row?: number;
}) {
  const [open, setOpen] = useState(false);
  const shown = request ?? (ask && standardRequest(ask, fields, remark, row));
  if (!shown || isShared()) return null;
  return (
    <>
      <button type="button" class="icon" aria-label={`${texts.request.open}: ${title}`}
        title={texts.request.open} onClick={() => setOpen(true)}>{"</>"}</button>
      {open && <RequestDialog request={shown} close={() => setOpen(false)} />}
    </>
  );
}

const standardRequest = (ask: Ask<QueryType>, fields: AnswerField[], remark?: string, row: number | "" = ""): ShownRequest => ({
  path: "/v1/query",
  query: ask.link ? { link_id: ask.link } : subjectQuery.value,
  body: bodyOf(ask),
  definition: typeDefinition(ask.name),
  answer: fields.length ? {
    fields, remark, rows: `data[0].data[${row}]`, changes: isCompared(ask) ? `data[0].comparison.rows[${row}]` : undefined,
  } : undefined,
});

/** The numbers of a file that are fields of the answer, each once. */
const fieldsOf = (file: FileColumn[]): AnswerField[] =>
  file.filter(({ field }, i) => !field.startsWith(PREVIOUS) && !field.startsWith(CHANGE) && file.findIndex((each) => each.field === field) === i);

/** Buttons for the first few, a menu for the rest. */
export function Tabs({ tabs, chosen, choose, most = MOST_TABS }: {
  tabs: Tab[];
  chosen: string;
  choose: (id: string) => void;
  most?: number;
}) {
  const [shown, rest] = tabs.length > most ? [tabs.slice(0, most - 1), tabs.slice(most - 1)] : [tabs, []];
  const hidden = rest.find(({ id }) => id === chosen);
  return (
    <div class="tabs" role="group">
      {shown.map(({ id, label }) => (
        <button key={id} type="button" aria-pressed={id === chosen} onClick={() => choose(id)}>{label}</button>
      ))}
      {rest.length > 0 && (
        <Popover label={`${hidden?.label ?? texts.breakdowns.more} ▾`} className={hidden ? "tab chosen" : "tab"}>
          {(close) => rest.map(({ id, label }) => (
            <MenuItem key={id} chosen={id === chosen} onClick={() => { close(); choose(id); }}>{label}</MenuItem>
          ))}
        </Popover>
      )}
    </div>
  );
}
