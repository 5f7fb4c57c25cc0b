// A card with the series of one field of a query type, and tabs for the width of the buckets.
import { useMemo } from "preact/hooks";
import { type Ask, isCompared } from "../api/ask";
import { comparedFrom } from "../api/compared";
import { timezone } from "../api/session";
import { useAnswer } from "../api/use";
import { address, go } from "../state/address";
import { defaultGranularity, granularitiesOf } from "../state/period";
import { texts } from "../texts";
import type { QueryType } from "../types";
import { Card } from "./card";
import { comparedSeries, type Series, SeriesChart } from "./series_chart";
import { Async } from "./states";

/** The width of the buckets that the page shows. */
export function shownGranularity(): string {
  const { period, granularity } = address.value;
  return granularity ?? defaultGranularity(period, timezone.value);
}

export function TimeSeries({ title, unit, name, field, filters, format, bounds, only }: {
  title: string;
  /** What one value is. */
  unit: string;
  name: QueryType;
  /** The field of its rows that is drawn. */
  field: string;
  filters?: Ask<QueryType>["filters"];
  format: (value: number) => string;
  bounds?: Series["bounds"];
  /** Keeps the rows that are drawn, of a type with several rows in a bucket. */
  only?: [field: string, value: string];
}) {
  const by = shownGranularity();
  const ask: Ask<QueryType> = { name, options: { granularity: by }, filters, compared: !only };
  const loaded = useAnswer(ask);
  const { value } = loaded;
  const all = useAnswer(isCompared(ask) ? { name: "events_by_date", options: { granularity: by }, compared: true } : null);
  const from = comparedFrom(all.value, by);
  const series = useMemo<Series | null>(() => {
    if (!value) return null;
    const every = value.rows as unknown as Record<string, unknown>[];
    const rows = only ? every.filter((row) => row[only[0]] === only[1]) : every;
    return {
      labels: rows.map((row) => row.date as string),
      values: rows.map((row) => row[field] as number | null),
      ...comparedSeries(value.comparison, field, from),
      partial: value.partialBucket,
      granularity: by,
      name: title,
      unit,
      format,
      bounds,
      annotations: value.annotations,
    };
  }, [value, field, only?.[1], by, title, unit, from]);
  return (
    <Card title={title} ask={ask} className="wide" tab={by} fields={[{ label: texts.chart.bucket, field: "date" }, { label: unit, field }]}
      tabs={granularitiesOf(address.value.period, timezone.value).map((id) => ({ id, label: texts.period.granularities[id]! }))}
      onTab={(id) => go({ granularity: id as typeof address.value.granularity })}>
      <div class="series-frame">
        <Async loaded={loaded} lines={7} isEmpty={() => !series?.labels.length}>{() => <SeriesChart series={series!} />}</Async>
      </div>
    </Card>
  );
}
