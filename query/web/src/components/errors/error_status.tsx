// What was decided about a group of errors: resolved, ignored, or open again; saved for all messages of its pattern and class.
import { fetchJson } from "../../api/request";
import { hasRecords, mayWriteRecords, subjectQuery } from "../../api/session";
import { refresh } from "../../api/use";
import { moreTexts } from "../../texts.more";
import type { IconName, Row } from "../../types";
import { Icon } from "../icon";
import { useAction } from "../setup/use_action";

type Group = Pick<Row<"error_changes">, "name" | "error_type" | "status" | "status_id">;

const t = moreTexts.errors.statuses;
const PATH = "/v1/error_statuses";

/** Whether groups can be resolved here, by who is signed in. */
export const mayResolve = (): boolean => hasRecords() && mayWriteRecords();

/** The status in words; nothing of an open group. */
export const StatusWord = ({ status }: { status: string }) =>
  status === "open" ? null : <span class={`state ${status === "came_back" ? "worse" : ""}`}><span class="state-word">{t.words[status] ?? status}</span></span>;

function store({ name, error_type: type, status_id: id }: Group, status: "resolved" | "ignored"): Promise<unknown> {
  return id
    ? fetchJson(`${PATH}/${id}`, { method: "PATCH", body: { status, release: null } })
    : fetchJson(PATH, { query: subjectQuery.value, body: { message: name, errorType: type, status } });
}

const reopen = ({ status_id: id }: Group): Promise<unknown> => fetchJson(`${PATH}/${id}`, { method: "DELETE" });

/** Resolve and ignore an open group, reopen another; icons in a table, words beside them elsewhere. */
export function StatusButtons({ row, withWords = false }: { row: Group; withWords?: boolean }) {
  const { note, run } = useAction(refresh);
  const isSettled = row.status === "resolved" || row.status === "ignored";
  const button = (icon: IconName, word: string, work: () => Promise<unknown>) => (
    <button type="button" class={withWords ? undefined : "icon"} aria-label={t.label(word, row.name)} title={word} onClick={() => run(work)}>
      <Icon name={icon} />{withWords && ` ${word}`}
    </button>
  );
  return (
    <span class="row-actions">
      {isSettled ? button("repeat", t.reopen, () => reopen(row)) : (
        <>
          {button("circle-check", t.resolve, () => store(row, "resolved"))}
          {button("eye-off", t.ignore, () => store(row, "ignored"))}
        </>
      )}
      {note}
    </span>
  );
}
