// Why a request of a form was refused, in the words of the form.
import type { RequestError } from "../api/request";
import { isolate } from "../isolate";
import { lacksScope, messageOf } from "./states";

/** The message of the service; members of the request, which it quotes, by the labels of their inputs. */
export function formMessage(problem: unknown, labels: Record<string, string>): string {
  const { code, status, message } = problem as RequestError;
  if (code === "UNREACHABLE" || status === 429 || lacksScope(problem as RequestError)) return messageOf(problem as RequestError);
  return message.replace(/'(?:\w+\[\d+\]\.)?(\w+)(?:\[\d+\])?'/g, (quoted, member: string) =>
    (Object.hasOwn(labels, member) ? `“${isolate(withoutHint(labels[member]!))}”` : quoted));
}

/** `Password (optional)` is the input `Password`. */
const withoutHint = (label: string): string => label.replace(/ \(.*$/, "");
