// All rows of a query as one CSV file, page by page, of one version of the stored rows.
import { csvFile, csvHeader, csvLines, type FileColumn, PREVIOUS, type RecordColumn } from "../state/csv";
import { subjectQuery } from "../app/session";
import { type Ask, bodyOf } from "./ask";
import { fetchJson, send } from "./request";
import type { QueryType, Schemas } from "./types";

/** Rows that one request gives at most, and a file: fewer of visits, whose rows have lists that the file leaves out. */
const PAGE_ROWS = 10_000;
const MOST_ROWS = 100_000;
const VISITS_PAGE_ROWS = 500;
const MOST_VISITS = 20_000;

export interface CsvFile {
  data: Blob;
  rows: number;
  /** Of the query; more than `rows` when the file is cut. */
  total: number;
}

/** A file of records that are known already. */
export const recordsFile = <One>(records: One[], columns: RecordColumn<One>[]): CsvFile =>
  ({ data: new Blob([csvFile(records, columns)], { type: "text/csv" }), rows: records.length, total: records.length });

export async function csvOf(ask: Ask<QueryType>, columns: FileColumn[]): Promise<CsvFile> {
  const query = ask.link ? { link_id: ask.link } : subjectQuery.value;
  const compared = columns.some(({ field }) => field.startsWith(PREVIOUS));
  const [pageRows, most] = ask.name === "session_list" ? [VISITS_PAGE_ROWS, MOST_VISITS] : [PAGE_ROWS, MOST_ROWS];
  const { total, versions } = await totalOf(ask, query);
  const parts = [csvHeader(columns)];
  const pages = Math.ceil(Math.min(total, most) / pageRows);
  for (let page = 1; page <= pages; page++) {
    const body = { ...bodyOf({ ...pageOf(ask, pageRows, page), compared }), asOf: versions };
    parts.push(csvLines(await (await send("/v1/query", { query: { ...query, format: "csv" }, body })).text(), columns));
  }
  return { data: new Blob(parts, { type: "text/csv" }), rows: Math.min(total, most), total };
}

/** How many rows there are, in which versions of the tables. */
async function totalOf(ask: Ask<QueryType>, query: Record<string, string>): Promise<{ total: number; versions: Record<string, number> }> {
  const { data, meta } = await fetchJson<Schemas["StandardResponse"]>("/v1/query", { query, body: bodyOf(pageOf(ask, 1, 1)) });
  const [outcome] = data;
  if (!outcome!.success) throw new Error(outcome!.error ?? "");
  return { total: outcome!.meta!.totalRows, versions: meta.versions };
}

const pageOf = (ask: Ask<QueryType>, limit: number, page: number): Ask<QueryType> =>
  ({ ...ask, compared: false, options: { ...ask.options, limit, page } });
