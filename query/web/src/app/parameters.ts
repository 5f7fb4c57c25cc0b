// What the parameters of views may be. One that is anything else is left out, and the view shows its default.
import { parseExploration } from "../state/exploration";
import { isDate } from "../state/period";
import { parseSteps } from "../state/steps";

type Check = (text: string) => boolean;

const isPage: Check = (text) => /^[1-9]\d{0,8}$/.test(text);
const isNumber: Check = (text) => /^\d{1,15}$/.test(text);

const isSort: Check = (text) => /^\w+(:asc|:desc)?$/.test(text);

const OF_ALL: Record<string, Check> = { page: isPage, entries: isPage, paths: isPage, sort: isSort };
const OF_VIEWS: Record<string, Record<string, Check>> = {
  errors: { line: isNumber },
  explore: { q: (text) => parseExploration(text) !== null },
  funnels: { steps: (text) => parseSteps(text) !== null, window: isPage },
  retention: { cohort: isDate, after: isNumber },
  setup: { before: isNumber },
  vitals: { groupPage: isPage, groupSort: isSort },
};

/** Whether a view can read one of its parameters; those without a check are texts or names, which it looks up. */
export function isReadable(view: string, name: string, text: string): boolean {
  const checks = { ...OF_ALL, ...(Object.hasOwn(OF_VIEWS, view) ? OF_VIEWS[view] : {}) };
  return !text || !Object.hasOwn(checks, name) || checks[name]!(text);
}
