// A titled part of a view.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Ask, bodyOf, isCompared } from "../api/ask";
import type { CsvFile } from "../api/download";
import { isShared, subjectQuery } from "../api/session";
import { type FileColumn, PREVIOUS } from "../state/csv";
import { texts } from "../texts";
import type { QueryType } from "../types";
import { loadCsv, useDownload } from "./download";
import { Icon } from "./icon";
import type { Defined } from "./definition";
import { lazy, Suspense } from "./lazy";
import { MenuItem, Popover } from "./popover";
import type { AnswerField, ShownRequest } from "./request_dialog";

const Definition = lazy(() => import("./definition"));
const RequestDialog = lazy(() => import("./request_dialog"));
const MOST_TABS = 4;
/** Begins a column of a file with the change of a field. */
const CHANGE = "change_percent_";

export interface Tab {
  id: string;
  label: string;
}

export function Card({ title, heading, subtitle, tabs, tab, onTab, ask, request, requests = [], definition, file, load, fields, remark, actions, menu, className = "", children }: {
  title: string;
  /** What is shown in place of the title, such as the number of rows where the view has the same title. */
  heading?: string;
  subtitle?: ComponentChildren;
  tabs?: Tab[];
  tab?: string;
  onTab?: (id: string) => void;
  /** The query behind the card, or another request. */
  ask?: Ask<QueryType>;
  request?: ShownRequest;
  /** What the number means; by default the definition of the query. */
  definition?: Defined;
  /** The columns of the file with all rows of the query. */
  file?: FileColumn[] | null;
  /** Or its file, where no query has it. */
  load?: () => Promise<CsvFile>;
  /** Which field of the answer each number is; by default as in the file. */
  fields?: AnswerField[];
  /** What differs between the numbers of the card and the answer. */
  remark?: string;
  actions?: ComponentChildren;
  /** Further requests behind its numbers. */
  requests?: NamedRequest[];
  /** Further items of its menu. */
  menu?: (close: () => void) => ComponentChildren;
  className?: string;
  children: ComponentChildren;
}) {
  const means = definition ?? (ask && { type: ask.name });
  return (
    <section class={`card ${className}`} aria-label={title}>
      <header class="card-head">
        <h2>{heading ?? title}</h2>
        {subtitle}
        {tabs && onTab && <Tabs tabs={tabs} chosen={tab ?? tabs[0]!.id} choose={onTab} />}
        <span class="card-actions">
          {actions}
          <CardMenu title={title} definition={means} load={load ?? (ask && file ? () => loadCsv(ask, file) : undefined)} menu={menu}
            requests={[{ label: texts.request.open, request: request ?? (ask && standardRequest(ask, fields ?? fieldsOf(file ?? []), remark)) }, ...requests]} />
        </span>
      </header>
      {children}
    </section>
  );
}

interface NamedRequest {
  label: string;
  request: ShownRequest | undefined;
}

/** What a card has beside its numbers: what they mean, their file, and the requests by which callers of the API get them. */
export function CardMenu({ title, definition, load, requests, menu }: {
  title: string;
  definition?: Defined;
  load?: () => Promise<CsvFile>;
  requests: NamedRequest[];
  menu?: (close: () => void) => ComponentChildren;
}) {
  const [open, setOpen] = useState<ShownRequest | null>(null);
  const { note, busy, download } = useDownload(title, load);
  const shown = isShared() ? [] : requests.filter(({ request }) => request); // a shared dashboard has no API
  if (!definition && !load && !shown.length && !menu) return null;
  return (
    <>
      <span role="status" class="quiet">{note}</span>
      <Popover label={<Icon name="ellipsis" />} name={texts.card.menu(title)} className="icon card-menu">
        {(close) => (
          <>
            {definition && <p class="menu-text"><Suspense fallback={null}><Definition of={definition} /></Suspense></p>}
            {definition && (load || shown.length > 0 || menu) && <hr />}
            {menu?.(close)}
            {load && <MenuItem disabled={busy} onClick={() => { close(); void download(); }}><Icon name="download" />{texts.download.csv(title)}</MenuItem>}
            {shown.map(({ label, request }) => (
              <MenuItem key={label} onClick={() => { close(); setOpen(request!); }}><Icon name="code" />{label}</MenuItem>
            ))}
          </>
        )}
      </Popover>
      {open && <Suspense fallback={null}><RequestDialog request={open} close={() => setOpen(null)} /></Suspense>}
    </>
  );
}

export const standardRequest = (ask: Ask<QueryType>, fields: AnswerField[], remark?: string, row: number | "" = ""): ShownRequest => ({
  path: "/v1/query",
  query: ask.link ? { link_id: ask.link } : subjectQuery.value,
  body: bodyOf(ask),
  definition: { type: ask.name },
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
        <Popover label={<>{hidden?.label ?? texts.breakdowns.more}<Icon name="chevron-down" size={13} /></>} className={hidden ? "tab chosen" : "tab"}>
          {(close) => rest.map(({ id, label }) => (
            <MenuItem key={id} chosen={id === chosen} onClick={() => { close(); choose(id); }}>{label}</MenuItem>
          ))}
        </Popover>
      )}
    </div>
  );
}
