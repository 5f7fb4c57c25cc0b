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

/** null when the text is no list of steps. */
export function parseSteps(text: string): Step[] | null {
  const steps = text.split(",").map((part) => {
    const at = part.indexOf(":");
    return { kind: part.slice(0, at) as StepKind, value: decoded(part.slice(at + 1)) };
  });
  return steps.every((step): step is Step => KINDS.includes(step.kind) && step.value !== null) ? steps : null;
}

/** A part of an address without its escapes; null when they are broken. */
export function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export const stepMember = ({ kind, value }: Step): Record<string, string> => ({ [kind]: value });
export const isComplete = (step: Step): boolean => step.value.trim() !== "";
