// The answer to a question as it fits: numbers, lines over time, bars, or a table.
import { useMemo } from "preact/hooks";
import { useComparedData } from "../api/compared";
import { type MetricsAnswer, type MetricsAsk, type MetricsRow, useMetricsAnswer } from "../api/metrics";
import { timezone } from "../api/session";
import type { Loaded } from "../api/use";
import { address, addressWith, follow, go } from "../state/address";
import { cellText } from "../state/columns";
import { condition, DIRECT, type Filter, hasFilter, toggleFilter } from "../state/filters";
import { formatExact, formatNumber } from "../state/format";
import { areApart, type Line, labelsOf } from "../state/lines";
import {
  dimensionText, hasVisitors, isFilterable, type Known, lessIsBetter, termIcon, termText, unitOf, valueShown, weightOf,
} from "../state/metric_fields";
import { bucketDays, daysOf, today } from "../state/period";
import { bucketOf, BUCKETS, columnsOf, groupsOf, membersOf, type Order, type Question, type Shape, type Term, TIME } from "../state/question";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";
import { Change, RowChange } from "./change";
import { type Column, DataTable, type Sort } from "./data_table";
import { Icon } from "./icon";
import { DeviceIcon, Flag, Logo } from "./logo";
import { ResultWarnings } from "./result_warnings";
import { type Series, SeriesChart } from "./series_chart";
import { Async } from "./states";

const t = moreTexts.explore;
/** Lines of a chart; each has a color of its own. */
const MOST_SERIES = 6;
/** Rows of lines are cut only by the API's limit; a table of a time series has some hundred. */
const [MOST_ROWS, MOST_BUCKET_ROWS] = [10_000, 1000];
const LIMITS = [10, 20, 50, 100, 1000];

interface Asked {
  question: Question;
  known: Known;
}

/** The query of a question; lines need the rows of all buckets. */
export function askOf(question: Question, shape: Shape): MetricsAsk {
  const { limit: _, ...members } = membersOf(question);
  if (!question.dimensions.length) return members;
  return { ...members, limit: bucketOf(question) ? (shape === "line" ? MOST_ROWS : MOST_BUCKET_ROWS) : question.limit };
}

/** Whether numbers are shown beside those of the compared time range. */
export const isCompared = (question: Question): boolean => !bucketOf(question) || question.dimensions.length === 1;

export function QuestionResult({ question, known, shape, change }: Asked & { shape: Shape; change: (question: Question) => void }) {
  const [group] = groupsOf(question);
  if (shape === "line" && group) return <Lines {...{ question, known, group }} />;
  return <Whole {...{ question, known, shape, change }} />;
}

/** What one answer draws. */
function Whole({ question, known, shape, change }: Asked & { shape: Shape; change: (question: Question) => void }) {
  const loaded = useMetricsAnswer({ ...askOf(question, shape), compared: isCompared(question) });
  return (
    <Async loaded={loaded} lines={8} isEmpty={({ rows }) => !rows.length}>
      {(answer) => (
        <>
          {shape === "number" ? <Numbers {...{ question, known, answer }} />
            : shape === "line" ? <Series {...{ question, known, answer }} />
              : <Rows {...{ question, known, answer, change }} bars={shape === "bar"} />}
          <ResultWarnings warnings={answer.warnings} />
        </>
      )}
    </Async>
  );
}

function Numbers({ question, known, answer: { rows: [row], comparison } }: Asked & { answer: MetricsAnswer }) {
  const before = useComparedData();
  const compared = comparison?.rows[0];
  const columns = columnsOf(question.metrics);
  return (
    <dl class="figures">
      {question.metrics.map((term, i) => {
        const column = columns[i]!;
        const points = unitOf(term, known) === "percent";
        return (
          <div key={column}>
            <dt><Icon name={termIcon(term)} size={14} />{termText(term, known)}</dt>
            <dd title={exactly(row?.[column])}>{valueShown(term, row?.[column], known)}</dd>
            {compared && (
              <dd class="before">
                <Change percent={points ? compared.change[column] : compared.changePercent[column]} points={points} before={before} lessIsBetter={lessIsBetter(term)}
                  was={valueShown(term, compared.previous?.[column], known)} />
              </dd>
            )}
          </div>
        );
      })}
    </dl>
  );
}

/** Two metrics in one chart; else a chart for each unit: of one metric with the time range before, of several as lines. */
function Series({ question, known, answer }: Asked & { answer: MetricsAnswer }) {
  if (question.metrics.length === 2) return <UnitChart terms={question.metrics} {...{ question, known, answer }} />;
  const units = [...new Set(question.metrics.map((term) => unitOf(term, known)))];
  return (
    <>
      {units.map((unit) => (
        <UnitChart key={unit} terms={question.metrics.filter((term) => unitOf(term, known) === unit)} {...{ question, known, answer }} />
      ))}
    </>
  );
}

function UnitChart({ terms, question, known, answer: { rows, comparison, partialBucket, annotations } }: Asked & { terms: Term[]; answer: MetricsAnswer }) {
  const bucket = bucketOf(question)!;
  const granularity = BUCKETS[bucket]!;
  const key = JSON.stringify(terms);
  const format = (value: number) => valueShown(terms[0]!, value, known);
  const columns = terms.map((term) => columnsOf(question.metrics)[question.metrics.indexOf(term)]!);
  const labels = useMemo(() => rows.map((row) => String(row[bucket])), [rows, bucket]);
  const series = useMemo<Series>(() => ({
    labels,
    values: rows.map((row) => row[columns[0]!] as number | null),
    previous: comparison?.rows.map(({ previous }) => (previous?.[columns[0]!] as number | undefined) ?? null),
    previousLabels: comparison?.rows.map(({ previous }) => String(previous?.[bucket] ?? "")),
    partial: partialBucket, granularity, name: termText(terms[0]!, known), format, annotations, hasAverages: true,
  }), [rows, comparison, key, labels]);
  const lines = useMemo<Series>(() => {
    const values = columns.map((column) => rows.map((row) => row[column] as number | null));
    const isDouble = terms.length === 2 && (unitOf(terms[0]!, known) !== unitOf(terms[1]!, known) || areApart(values[0]!, values[1]!));
    return {
      name: terms.map((term) => termText(term, known)).join(", "), labels, partial: partialBucket, granularity, format, hasAverages: true,
      annotations: isDouble ? annotations : undefined,
      lines: terms.map((term, i): Line => ({
        name: termText(term, known), values: values[i]!, ...(isDouble ? { format: (value: number) => valueShown(term, value, known), isRight: i === 1 } : {}),
      })),
    };
  }, [rows, key, labels]);
  if (terms.length > 1) return <SeriesChart series={lines} />;
  return (
    <section class="unit-chart" aria-label={series.name}>
      {question.metrics.length > 1 && <h3>{series.name}</h3>}
      <SeriesChart series={series} />
    </section>
  );
}

/** Lines over time of the most important values of a dimension. */
function Lines({ question, known, group }: Asked & { group: string }) {
  const weight = weightOf(question.metrics[0]!, known);
  const { goals, having: _having, ...further } = question.further;
  const { limit: _, orderBy: __, ...members } = membersOf(question);
  const ofGoals = typeof weight !== "string" && goals ? { goals } : {};
  const ranked = membersOf({ ...question, metrics: [weight], dimensions: [group], orderBy: [], limit: MOST_SERIES, further: { ...further, ...ofGoals } });
  const top = useMetricsAnswer(ranked);
  const values = top.value?.rows.map((row) => row[group] ?? null);
  const filters = isFilterable(group, known) && values ? [oneOf(group, values)] : [];
  const ask = values?.length ? { ...members, filters: [...members.filters ?? [], ...filters], limit: MOST_ROWS } : null;
  const series = useMetricsAnswer(ask);
  const loaded: Loaded<MetricsAnswer> = values?.length ? series : top;
  return (
    <Async loaded={loaded} lines={8} isEmpty={() => !values?.length}>
      {(answer) => (
        <>
          {question.metrics.map((term) => <GroupLines key={JSON.stringify(term)} {...{ question, known, group, term, answer }} values={values!} />)}
          {top.value!.total > MOST_SERIES && <p class="quiet">{t.most(MOST_SERIES, formatNumber(top.value!.total))}</p>}
        </>
      )}
    </Async>
  );
}

function GroupLines({ question, known, group, term, values, answer: { rows, partialBucket } }: Asked & {
  group: string;
  term: Term;
  values: MetricsRow[string][];
  answer: MetricsAnswer;
}) {
  const { period } = address.value;
  const bucket = bucketOf(question)!;
  const granularity = BUCKETS[bucket]!;
  const name = termText(term, known);
  const chart = useMemo(() => {
    const column = columnsOf(question.metrics)[question.metrics.indexOf(term)]!;
    const labels = labelsOf(rows.map((row) => ({ date: row[bucket] })), granularity, daysOf(period, timezone.value), today(timezone.value));
    const at = new Map(labels.map((label, i) => [label, i]));
    const isCount = ["count", "money"].includes(unitOf(term, known));
    const lines = values.map((value): Line => {
      const line: Line = { name: cellText(group, value, timezone.value), values: labels.map(() => (isCount ? 0 : null)) };
      for (const row of rows) if ((row[group] ?? null) === value) line.values[at.get(String(row[bucket]))!] = row[column] as number | null;
      return line;
    });
    return { name, labels, lines, partial: partialBucket, granularity, hasAverages: true, format: (value: number) => valueShown(term, value, known) };
  }, [rows, JSON.stringify([term, values, group, period]), partialBucket]);
  return (
    <section class="unit-chart" aria-label={name}>
      {question.metrics.length > 1 && <h3>{name}</h3>}
      <SeriesChart series={chart} />
    </section>
  );
}

const isAbsent = (value: MetricsRow[string] | undefined): value is null | undefined => value === null || value === undefined;
const exactly = (value: MetricsRow[string] | undefined): string | undefined => (typeof value === "number" ? formatExact(value) : undefined);

const filterOn = (field: string, value: MetricsRow[string] | undefined): Filter =>
  (typeof value === "number" || typeof value === "boolean" ? { field, operator: "eq", value } : condition(field, isAbsent(value) ? null : value));

/** The rows with one of these values. */
function oneOf(field: string, values: MetricsRow[string][]): Schemas["Filter"] {
  const present = values.filter((value) => !isAbsent(value)) as (string | number | boolean)[];
  const parts = [
    ...(present.length ? [{ field, operator: "in", value: present }] : []),
    ...(present.length < values.length ? [{ field, operator: "is_null" }] : []),
  ];
  return (parts.length === 1 ? parts[0] : { or: parts }) as Schemas["Filter"];
}

function Rows({ question, known, answer, bars, change }: Asked & { answer: MetricsAnswer; bars: boolean; change: (question: Question) => void }) {
  const { rows, total, comparison } = answer;
  const before = useComparedData();
  const columns = columnsOf(question.metrics);
  const sort = sortOf(question, columns);
  const barAt = Math.max(0, columns.indexOf(sort.field));
  const barColumn = columns[barAt]!;
  const most = Math.max(0, ...rows.map((row) => Number(row[barColumn] ?? 0))) || 1;
  const isDrawn = bars && rows.every((row) => Number(row[barColumn] ?? 0) >= 0);
  const shown: Column<MetricsRow>[] = [
    ...question.dimensions.map((name, i): Column<MetricsRow> => ({
      key: name, label: dimensionText(name), sortable: true, className: i === 0 && isDrawn ? "with-bar" : undefined,
      render: (row) => (
        <>
          {i === 0 && isDrawn && <span class="bar" style={{ width: `${(100 * Number(row[barColumn] ?? 0)) / most}%` }} />}
          <Cell name={name} value={row[name]} known={known} />
        </>
      ),
    })),
    ...question.metrics.flatMap((term, i): Column<MetricsRow>[] => [
      {
        key: columns[i]!, label: termText(term, known), number: true, sortable: true,
        render: (row) => <span title={exactly(row[columns[i]!])}>{valueShown(term, row[columns[i]!], known)}</span>,
      },
      ...(comparison && before === "enough" && i === barAt ? [{
        key: "change", label: texts.breakdowns.change, number: true, extra: true,
        render: (_: MetricsRow, at: number) => <RowChange field={columns[i]!} compared={comparison.rows[at]} before={before} lessIsBetter={lessIsBetter(term)} />,
      }] : []),
    ]),
    ...(hasVisitors(question, known) ? [{
      key: "visitors_behind", label: t.behind, number: true, extra: true,
      render: (row: MetricsRow) => (
        <a class="icon" href={visitorsOf(question, row)} onClick={follow} title={t.visitorsBehind(nameOf(question, row))} aria-label={t.visitorsBehind(nameOf(question, row))}>
          <Icon name="users" />
        </a>
      ),
    }] : []),
  ];
  const onSort = ({ field, direction }: Sort) => change({ ...question, orderBy: [{ field, direction }] });
  const limits = [...new Set([...LIMITS, question.limit])].toSorted((a, b) => a - b);
  return (
    <>
      <DataTable label={t.result} rows={rows} columns={shown} sort={sort} onSort={onSort} className={isDrawn ? "bar-rows" : ""} />
      <div class="rows-foot">
        <span class="quiet">{t.rowsOf(formatNumber(rows.length), formatNumber(total))}</span>
        {!bucketOf(question) && total > LIMITS[0]! && (
          <label>{t.limit}
            <select value={question.limit} onChange={(e) => change({ ...question, limit: Number(e.currentTarget.value) })}>
              {limits.map((limit) => <option key={limit} value={limit}>{formatNumber(limit)}</option>)}
            </select>
          </label>
        )}
      </div>
    </>
  );
}

/** As the API orders rows. */
function sortOf({ orderBy: [order], dimensions }: Question, columns: string[]): Sort {
  const first: Order = order ?? (dimensions[0]?.startsWith(TIME) ? { field: dimensions[0], direction: "asc" } : { field: columns[0]!, direction: "desc" });
  return { field: first.field, direction: first.direction ?? "desc" };
}

/** The value of a dimension, which filters the page where it can. */
function Cell({ name, value, known }: { name: string; value: MetricsRow[string] | undefined; known: Known }) {
  const bucket = BUCKETS[name];
  const text = cellText(bucket ? `${TIME}${bucket}` : name, value, timezone.value);
  if (!isFilterable(name, known) || name.startsWith(TIME)) return <span class="row-link">{text}</span>;
  const { filters } = address.value;
  const filter = filterOn(name, value);
  const chosen = hasFilter(filters, filter);
  return (
    <button type="button" class="row-link" aria-pressed={chosen} title={(chosen ? texts.breakdowns.unfilter : texts.breakdowns.filterBy)(text)}
      onClick={() => go({ filters: toggleFilter(filters, filter) })}>
      <Image name={name} value={value} />{text}
    </button>
  );
}

function Image({ name, value }: { name: string; value: MetricsRow[string] | undefined }) {
  if (typeof value !== "string") return null;
  if (name.endsWith("country")) return <Flag country={value} />;
  if (name.endsWith("device_type")) return <DeviceIcon device={value} />;
  if (name.endsWith("os_name")) return <Logo name={value} other="monitor" />;
  if (name.endsWith("browser_name")) return <Logo name={value} />;
  if (name.endsWith("referrer_name")) return <Logo name={value} other={value === DIRECT ? "log-in" : "globe"} />;
  return null;
}

const nameOf = ({ dimensions }: Question, row: MetricsRow): string =>
  dimensions.map((name) => cellText(BUCKETS[name] ? `${TIME}${BUCKETS[name]}` : name, row[name], timezone.value)).join(", ");

/** The view of visitors, with those of a row only. */
function visitorsOf(question: Question, row: MetricsRow): string {
  const filters = [...address.value.filters, ...question.filters, ...groupsOf(question).map((name) => filterOn(name, row[name]))];
  const bucket = bucketOf(question);
  return addressWith({ view: "visitors", filters, ...(bucket ? { period: bucketDays(String(row[bucket]), BUCKETS[bucket]!) } : {}) });
}
