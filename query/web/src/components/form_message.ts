// Why a request of a form was refused, in the words of the form.
import { isolate } from "../isolate";

/** The message of the service; members of the request, which it quotes, by the labels of their inputs. */
export function formMessage(problem: unknown, labels: Record<string, string>): string {
  const { message } = problem as Error;
  return message.replace(/'(\w+)'/g, (quoted, member: string) =>
    (Object.hasOwn(labels, member) ? `“${isolate(withoutHint(labels[member]!))}”` : quoted));
}

/** `Password (optional)` is the input `Password`. */
const withoutHint = (label: string): string => label.replace(/ \(.*$/, "");
