// All rows of a query as one CSV file, page by page, of one version of the stored rows.
import { csvFile, csvHeader, csvLines, type FileColumn, PREVIOUS, type RecordColumn } from "../state/csv";
import type { Schemas } from "../types";
import type { StandardRequest } from "./ask";
import { fetchJson, send } from "./request";

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

/** Asks what `request` asked when the file was wanted: the page may show something else before all its pages are there. */
export async function csvOf({ query, body, parameter: { compare, ...parameter } }: StandardRequest, columns: FileColumn[]): Promise<CsvFile> {
  const compared = columns.some(({ field }) => field.startsWith(PREVIOUS)) ? { compare } : {};
  const [pageRows, most] = parameter.name === "session_list" ? [VISITS_PAGE_ROWS, MOST_VISITS] : [PAGE_ROWS, MOST_ROWS];
  const pageOf = (limit: number, page: number, more: object = {}) => ({ ...body, parameters: [{ ...parameter, ...more, limit, page }] });
  const { data: [outcome], meta: { versions } } = await fetchJson<Schemas["StandardResponse"]>("/v1/query", { query, body: pageOf(1, 1) });
  if (!outcome!.success) throw new Error(outcome!.error ?? "");
  const total = outcome!.meta!.totalRows;
  const parts = [csvHeader(columns)];
  const pages = Math.ceil(Math.min(total, most) / pageRows);
  for (let page = 1; page <= pages; page++) {
    const response = await send("/v1/query", { query: { ...query, format: "csv" }, body: { ...pageOf(pageRows, page, compared), asOf: versions } });
    parts.push(csvLines(await response.text(), columns));
  }
  return { data: new Blob(parts, { type: "text/csv" }), rows: Math.min(total, most), total };
}
