// CSV as the service writes it (RFC 4180, formulas guarded): read, and written again with the columns of a list.

export interface FileColumn {
  /** The field of rows. */
  field: string;
  label: string;
  /** Words for a value, such as the name of a country. */
  show?: (value: string) => string;
}

/** Begins a field of the time range that a query is compared with. */
export const PREVIOUS = "previous_";

const CELL = /(?:"((?:[^"]+|"")*)"|([^,\r\n]*))(,|\r\n|$)/gy;
/** By which spreadsheets know that a file is UTF-8. */
const BYTE_ORDER_MARK = "\ufeff";
const LINE_END = "\r\n";

/** Begins with a sign that begins no formula, and has nothing that separates cells; some letters are not seen. */
const PLAIN = /^(?![\u115f\u1160\u3164\uffa0])[\p{L}\p{N}/[{][^;\t\r\n]*$/u;

/** A text that did not come as CSV: what is not plain gets apostrophes wherever a spreadsheet might begin a formula. */
export const guarded = (text: string): string =>
  !text || PLAIN.test(text) ? text : text.replace(/^|[;\t\r\n]/g, (separator) => `${separator}'`);

export function parseCsv(text: string): string[][] {
  const lines: string[][] = [];
  let line: string[] = [];
  CELL.lastIndex = 0;
  while (CELL.lastIndex < text.length) {
    const [, quoted, plain = "", end] = CELL.exec(text)!;
    line.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    lines.push(line);
    line = [];
  }
  return lines;
}

const cell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const lineOf = (cells: string[]): string => cells.map(cell).join(",") + LINE_END;

export const csvHeader = (columns: FileColumn[]): string => BYTE_ORDER_MARK + lineOf(columns.map(({ label }) => label));

/** The label of a column, and what it shows of a record. */
export type RecordColumn<One> = [label: string, show: (record: One) => string];

/** A file of records that did not come as CSV. */
export function csvFile<One>(records: One[], columns: RecordColumn<One>[]): string {
  const rows = records.map((record) => lineOf(columns.map(([, show]) => guarded(show(record)))));
  return csvHeader(columns.map(([label]) => ({ field: "", label }))) + rows.join("");
}

/** The rows of a CSV text with a header of fields, with the given columns only. */
export function csvLines(text: string, columns: FileColumn[]): string {
  const [fields = [], ...rows] = parseCsv(text);
  const picked = columns.map(({ field, show }) => ({ at: fields.indexOf(field), show }));
  return rows.map((row) => lineOf(picked.map(({ at, show }) => {
    const value = row[at] ?? "";
    return value && show ? show(value) : value;
  }))).join("");
}
