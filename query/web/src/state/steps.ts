// Steps of funnels and goals: a page, an event or a saved goal; as the API takes them, and in the address.
export const KINDS = ["path", "event", "goal"] as const;
export type StepKind = (typeof KINDS)[number];

export interface Step {
  kind: StepKind;
  value: string;
}

/** `path:%2F,event:signup` */
export const formatSteps = (steps: Step[]): string =>
  steps.map(({ kind, value }) => `${kind}:${encodeURIComponent(value)}`).join(",");

export function parseSteps(text: string | undefined): Step[] {
  if (!text) return [];
  return text.split(",").flatMap((part) => {
    const at = part.indexOf(":");
    const kind = part.slice(0, at) as StepKind;
    return KINDS.includes(kind) ? [{ kind, value: decodeURIComponent(part.slice(at + 1)) }] : [];
  });
}

export const stepMember = ({ kind, value }: Step): Record<string, string> => ({ [kind]: value });
export const isComplete = (step: Step): boolean => step.value.trim() !== "";
