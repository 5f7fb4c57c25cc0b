// A custom query of the rows of one table, built by picking; its result as a table, line or bars, and as a file.
import type { ComponentChildren } from "preact";
import { pageMembers } from "../api/ask";
import { useState } from "preact/hooks";
import { fetchJson, RequestError, send } from "../api/request";
import { subjectQuery } from "../api/session";
import { useLoaded } from "../api/use";
import { Card } from "./card";
import { Dialog } from "./dialog";
import { ownFileName, save } from "./download";
import { type Catalogue, QueryBuilder } from "./query_builder";
import { QueryResult, SHAPES, usualShape } from "./query_result";
import type { AnswerField } from "./request_dialog";
import { Async, messageOf } from "./states";
import { address, goOwn } from "../state/address";
import { columnText, valueText } from "../state/columns";
import { aliasOf, columnOf, type Exploration, formatExploration, queryOf } from "../state/exploration";
import { formatNumber } from "../state/format";
import { hasLines } from "../state/lines";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";

const t = moreTexts.explore;
const PATH = "/v1/query/custom";
/** Formats of files with their extensions. */
const FORMATS = { csv: "csv", parquet: "parquet", arrow: "arrows" };
/** Rows of lines and files are cut only by the API's limit, not by the limit of tables. */
const MOST_ROWS = 10_000;

/** The body that saves it, with the filters of the page. */
export function customBody(exploration: Exploration) {
  const query = queryOf(exploration);
  return { query: { ...query, filters: [...address.value.filters, ...(query.filters ?? [])] }, limit: exploration.limit } as unknown as Schemas["CustomRequest"];
}

export function CustomQuestion({ title, exploration, shape, actions }: {
  title: string;
  exploration: Exploration;
  shape: string;
  actions: ComponentChildren;
}) {
  const catalogue = useLoaded("tables", (signal) => fetchJson<Catalogue>("/v1/query/tables", { signal }));
  const change = (changed: Exploration) => goOwn({ q: formatExploration(changed), tab: "" });
  return (
    <>
      <Card title={title} className="wide" actions={actions}>
        <div class="builder-frame">
          <Async loaded={catalogue} lines={5}>
            {(value) => <QueryBuilder catalogue={value} exploration={exploration} change={change} />}
          </Async>
        </div>
      </Card>
      <CustomResult title={t.result} exploration={exploration} shape={shape} onShape={(id) => goOwn({ shape: id })} />
    </>
  );
}

/** The answer to a custom query under the time range and filters of the page. */
export function CustomResult({ title, exploration, shape: chosen, onShape, actions }: {
  title: string;
  exploration: Exploration;
  shape: string;
  onShape: (shape: string) => void;
  /** In place of the plan and the files. */
  actions?: ComponentChildren;
}) {
  const { filters } = address.value;
  const shape = SHAPES.find((each) => each === chosen) ?? usualShape(exploration);
  const query = queryOf(exploration);
  const limit = shape === "line" && hasLines(exploration) ? MOST_ROWS : exploration.limit;
  const body = {
    query: { ...query, filters: [...filters, ...(query.filters ?? [])] },
    limit, ...pageMembers(),
  };
  const key = exploration.selects.length ? JSON.stringify([subjectQuery.value, body]) : null;
  const loaded = useLoaded(key, (signal) =>
    fetchJson<Schemas["CustomResponse"]>(PATH, { query: subjectQuery.value, body, signal }));
  return (
    <Card title={title} className="wide" request={{ path: PATH, query: subjectQuery.value, body, answer: { rows: "data[]", fields: fieldsOf(exploration) } }}
      tabs={SHAPES.map((id) => ({ id, label: t.shapes[id] }))} tab={shape} onTab={onShape}
      actions={actions ?? <Actions body={body} table={exploration.table} total={loaded.value?.meta.totalRows ?? 0} />}>
      <Async loaded={loaded} lines={8} empty={exploration.filters.length ? texts.states.emptyFiltered : undefined} isEmpty={({ data }) => !data.length}>
        {({ data, meta }) => (
          <>
            <p class="quiet">{t.rows(formatNumber(data.length), formatNumber(meta.totalRows), formatNumber(meta.executionTime))}</p>
            {shape === "line" && data.length < (meta.totalRows ?? 0) && (
              <p class="notice">{t.cutRows(formatNumber(data.length), formatNumber(meta.totalRows))}</p>
            )}
            <QueryResult exploration={exploration} rows={data} partial={meta.partialBucket ?? null} shape={shape} />
          </>
        )}
      </Async>
    </Card>
  );
}

/** Which field of the answer each column is. */
const fieldsOf = ({ groups, selects }: Exploration): AnswerField[] => [
  ...groups.map((group) => ({ label: columnText(group), field: columnOf(group) })),
  ...selects.map((select) => ({ label: valueText(select), field: aliasOf(select) })),
];

/** What the query would read, and its rows as files. */
function Actions({ body, table, total }: { body: Record<string, unknown>; table: string; total: number }) {
  const [plan, setPlan] = useState<Schemas["ExplainResponse"] | null>(null);
  const [error, setError] = useState("");
  const [note, setNote] = useState("");
  const query = subjectQuery.value;
  const attempt = async (work: () => Promise<void>) => {
    setError("");
    setNote("");
    await work().catch((problem) => setError(messageOf(problem as RequestError)));
  };
  const explain = () => attempt(async () =>
    setPlan(await fetchJson<Schemas["ExplainResponse"]>("/v1/query/compile", { query, body })));
  const download = (format: keyof typeof FORMATS) => attempt(async () => {
    const name = ownFileName(`${texts.views.explore} ${t.tables[table] ?? table}`, FORMATS[format]); // of what is shown now
    const response = await send(PATH, { query: { ...query, format, ...(format === "csv" && { bom: "true" }) }, body: { ...body, limit: MOST_ROWS } });
    save(await response.blob(), name);
    if (total > MOST_ROWS) setNote(texts.download.cut(formatNumber(MOST_ROWS), formatNumber(total)));
  });
  return (
    <>
      {error && <span class="error" role="alert">{error}</span>}
      <span role="status" class="quiet">{note}</span>
      <button type="button" class="quiet-button" onClick={() => void explain()}>{t.explain}</button>
      <span class="quiet">{t.allRows}</span>
      {(Object.keys(FORMATS) as (keyof typeof FORMATS)[]).map((format) => (
        <button key={format} type="button" class="quiet-button" aria-label={t.download(format)} onClick={() => void download(format)}>
          {format.toUpperCase()}
        </button>
      ))}
      {plan && (
        <Dialog title={t.explain} close={() => setPlan(null)} wide>
          <ul>{plan.tables.map(({ name, rows }) => <li key={name}>{t.reads(name, formatNumber(rows))}</li>)}</ul>
          <pre tabIndex={0}>{plan.sql}</pre>
        </Dialog>
      )}
    </>
  );
}
