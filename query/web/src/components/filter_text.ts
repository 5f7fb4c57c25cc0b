// Filters in words: sentences, as chips have them.
import { timezone } from "../api/session";
import { isolate } from "../isolate";
import { kindOfField } from "../state/dimensions";
import { dayOfValue, type Part, partsOf } from "../state/filter_rows";
import { shownValue } from "../state/filter_values";
import type { Filter } from "../state/filters";
import { formatDay, formatNumber } from "../state/format";
import { isDate } from "../state/period";
import { texts } from "../texts";

const t = texts.filters;

/** The text of a name, which may come from the address; a name without one stays as it is. */
const named = (names: Record<string, string>, name: string): string => (Object.hasOwn(names, name) ? names[name]! : isolate(name));

export function fieldName(field: string): string {
  const [, prefix, name] = /^(properties|traits)\.(.+)$/s.exec(field) ?? [];
  return name ? (prefix === "traits" ? t.trait : t.property)(isolate(name)) : named(t.fields, field);
}

/** The words of an operator, which of instants are others. */
export const operatorName = (field: string, operator: string): string =>
  (kindOfField(field) === "instant" && Object.hasOwn(t.ofInstants, operator) ? t.ofInstants[operator]! : named(t.operators, operator));

export function filterText(filter: Filter): string {
  const parts = partsOf(filter);
  if (parts) return parts.map(partText).join(` ${t.or} `);
  if (filter.or) return filter.or.map(filterText).join(` ${t.or} `);
  if (filter.and) return filter.and.map(filterText).join(", ");
  if (filter.not) return t.not(filterText(filter.not));
  const [member, did] = Object.entries({ has_done: filter.has_done, has_not_done: filter.has_not_done }).find(([, each]) => each) ?? [];
  return did ? `${member === "has_done" ? t.did : t.didNot} ${isolate(did.event ?? did.path ?? did.goal ?? did.name ?? "")}` : JSON.stringify(filter);
}

function partText({ field, operator, values }: Part): string {
  const shown = values.map((value) => valueText(field, value)).join(` ${t.or} `);
  const sentence = t.sentences[field]?.[operator];
  return sentence ? sentence(shown) : [fieldName(field), operatorName(field, operator), shown].filter(Boolean).join(" ");
}

/** A value as the page shows it. */
export function valueText(field: string, value: string): string {
  const kind = kindOfField(field);
  if (kind === "instant") return isDate(dayOfValue(value, timezone.value)) ? formatDay(dayOfValue(value, timezone.value)) : isolate(value);
  if (kind === "number" && Number.isFinite(Number(value))) return formatNumber(Number(value));
  const shown = shownValue(field, value);
  return shown === value ? isolate(shown) : shown;
}
