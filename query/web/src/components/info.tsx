// What a number means, in the words of the reference.
import definitions from "../../generated/definitions.json";
import { Popover } from "./popover";

export type Definition = keyof typeof definitions.types | keyof typeof definitions.metrics;

export const definitionOf = (name: string): string | undefined =>
  (definitions.types as Record<string, string>)[name] ?? (definitions.metrics as Record<string, string>)[name];

export function Info({ of, title }: { of: Definition; title: string }) {
  const text = definitionOf(of);
  if (!text) return null;
  return (
    <Popover label="?" name={`${title}: definition`} className="info" panel="note">
      {() => <p>{text}</p>}
    </Popover>
  );
}
