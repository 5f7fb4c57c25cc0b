// The values of one property of an event: the most frequent ones, and of numbers their distribution.
import { useMetrics } from "../api/metrics";
import { address, go } from "../state/address";
import { type Bin, binsOf } from "../state/bins";
import { equals, type Filter, hasFilter, toggleFilter } from "../state/filters";
import { formatNumber } from "../state/format";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { Row } from "../types";
import { BarList } from "./bar_list";
import { Card } from "./card";
import { Facts } from "./facts";
import { type Money, moneyOf } from "./money";
import { Async } from "./states";

/** Numbers with at most this many values are shown value by value. */
const FEW_VALUES = 10;
const t = moreTexts.events;
type Property = Row<"custom_events_property_classification">;
type TopValue = Row<"custom_events_property_top_values">;

const AGGREGATES = ["min", "median", "avg", "p95", "max", "sum"] as const;

export function PropertyCard({ event, property, values, money }: {
  event: string;
  property: Property;
  /** The money properties of the website. */
  money: Money[];
  /** The most frequent values of this property. */
  values: TopValue[];
}) {
  const { property_key: key, cardinality, inferred_type: type } = property;
  const numeric = type === "numeric" && !key.includes(".");
  return (
    <Card title={key}>
      <p class="quiet">{t.kind(t.types[type] ?? type, cardinality, property.coverage_ratio)}</p>
      {numeric && <Numbers event={event} name={key} money={moneyOf(money, event, `properties.${key}`)} histogram={cardinality > FEW_VALUES} />}
      {(!numeric || cardinality <= FEW_VALUES) && <Values name={key} numeric={numeric} values={values} />}
    </Card>
  );
}

function Values({ name, numeric, values }: { name: string; numeric: boolean; values: TopValue[] }) {
  const { filters } = address.value;
  const ordered = numeric ? values.toSorted((a, b) => Number(a.property_value) - Number(b.property_value)) : values;
  return (
    <BarList nameLabel={name} valueLabel={texts.metrics.events} bars={ordered.map(({ property_value: value, count }) => {
      const filter = valueFilter(name, value, numeric);
      return {
        key: value, name: numeric ? formatNumber(Number(value)) : value, value: count, chosen: hasFilter(filters, filter),
        onClick: name.includes(".") ? undefined : () => go({ filters: toggleFilter(filters, filter) }),
      };
    })} />
  );
}

/** Values come as text; a filter compares numbers with numbers and booleans with booleans. */
function valueFilter(name: string, value: string, numeric: boolean): Filter {
  const field = `properties.${name}`;
  if (numeric) return { field, operator: "eq", value: Number(value) };
  return value === "true" || value === "false" ? { field, operator: "eq", value: value === "true" } : equals(field, value);
}

/** Of money for each currency: what they are all together would be no number. */
function Numbers({ event, name, money, histogram }: { event: string; name: string; money?: Money; histogram: boolean }) {
  const property = `properties.${name}`;
  const { currency, currencyProperty } = money ?? {};
  const loaded = useMetrics({
    metrics: AGGREGATES.map((metric) => ({ metric, property, event, as: metric })),
    filters: [equals("name", event)],
    ...(currencyProperty ? { dimensions: [currencyProperty] } : {}),
  });
  return (
    <Async loaded={loaded} lines={2}>
      {(all) => {
        const rows = currencyProperty ? all.filter((row) => row.min !== null) : all;
        const { min, max } = rows[0] as Record<string, number | null>;
        return (
          <>
            {rows.map((row) => {
              const unit = currency ?? (currencyProperty && row[currencyProperty]);
              return <Facts key={unit} facts={AGGREGATES.map((each) => [unit ? `${t.aggregates[each]} (${unit})` : t.aggregates[each], shown(row[each])])} />;
            })}
            {histogram && rows.length === 1 && typeof min === "number" && typeof max === "number"
              && <Histogram event={event} name={name} bins={binsOf(min, max)} />}
          </>
        );
      }}
    </Async>
  );
}

const shown = (value: unknown): string => (typeof value === "number" ? formatNumber(value) : "–");

const rangeFilter = (field: string, { from, to }: Bin): Filter => ({
  and: [{ field, operator: "gte", value: from }, { field, operator: "lt", value: to }],
}) as Filter;

/** How many events are in each bin, counted as conversions of a goal for each. */
function Histogram({ event, name, bins }: { event: string; name: string; bins: Bin[] }) {
  const { filters } = address.value;
  const field = `properties.${name}`;
  const label = (at: number) => `bin_${at}`;
  const loaded = useMetrics({
    metrics: bins.map((_, at) => ({ metric: "conversions", goal: label(at), as: label(at) })),
    goals: bins.map((bin, at) => ({ event, label: label(at), filters: rangeFilter(field, bin).and })),
  });
  return (
    <Async loaded={loaded} lines={bins.length}>
      {([row]) => (
        <BarList nameLabel={t.range} valueLabel={texts.metrics.events} bars={bins.map((bin, at) => {
          const filter = rangeFilter(field, bin);
          return {
            key: label(at),
            name: t.between(formatNumber(bin.from), formatNumber(bin.to)),
            value: Number(row?.[label(at)] ?? 0),
            chosen: hasFilter(filters, filter),
            onClick: () => go({ filters: toggleFilter(filters, filter) }),
          };
        })} />
      )}
    </Async>
  );
}
