// Steps of funnels and goals: a page, an event or a saved goal; as the API takes them, and in the address.
import type { Schemas } from "../types";
import { type Filter, isFilter, isRecord, parseJson } from "./filters";

export const KINDS = ["path", "event", "goal"] as const;
/** Those of a shared dashboard, which does not know what is saved. */
export const SHARED_KINDS = KINDS.filter((kind) => kind !== "goal");
/** `name` is a goal, a page or an event, whichever the API finds. */
const ALL_KINDS = [...KINDS, "name"] as const;
export type StepKind = (typeof ALL_KINDS)[number];

export interface Step {
  kind: StepKind;
  value: string;
  /** Of the event or page view; set by other callers of the API, and kept. */
  filters?: Filter[];
  label?: string;
}

/** What a step has beside its kind and value. */
const moreOf = ({ filters = [], label }: Step): Pick<Step, "filters" | "label"> =>
  ({ ...(filters.length ? { filters } : {}), ...(label ? { label } : {}) });

/** `path:%2F,event:signup`; filters and label of a step follow as JSON. */
export const formatSteps = (steps: Step[]): string => steps.map((step) => {
  const more = moreOf(step);
  const parts = [step.value, ...(Object.keys(more).length ? [JSON.stringify(more)] : [])];
  return [step.kind, ...parts.map(encodeURIComponent)].join(":");
}).join(",");

const PART = /^(\w*):([^]*?)(?::(%7B[^:]*))?$/;

/** null when the text is no list of steps. */
export function parseSteps(text: string): Step[] | null {
  const steps = text.split(",").map((part) => {
    const [, kind = "", value = "", rest] = PART.exec(part) ?? [];
    const more = rest === undefined ? {} : parseJson(decoded(rest) ?? "");
    return isMore(more) ? { kind: kind as StepKind, value: decoded(value), ...more } : null;
  });
  return steps.every((step): step is Step => step !== null && ALL_KINDS.includes(step.kind) && step.value !== null) ? steps : null;
}

const isMore = (more: unknown): more is Pick<Step, "filters" | "label"> =>
  isRecord(more) && Object.keys(more).every((name) => name === "filters" || name === "label")
  && (more.label === undefined || typeof more.label === "string")
  && (more.filters === undefined || (Array.isArray(more.filters) && more.filters.every((each) => isFilter(each))));

/** A part of an address without its escapes; null when they are broken. */
export function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export const stepMember = (step: Step): Schemas["Step"] =>
  ({ [step.kind]: step.value, ...moreOf(step) }) as Schemas["Step"];

/** A step of the API as the page edits it. */
export function stepOf(member: Schemas["Step"]): Step {
  const kind = ALL_KINDS.find((each) => member[each]) ?? "path";
  return { kind, value: member[kind] ?? "", ...moreOf({ kind, value: "", filters: member.filters, label: member.label ?? undefined }) };
}

export const isComplete = (step: Step): boolean => step.value.trim() !== "";
