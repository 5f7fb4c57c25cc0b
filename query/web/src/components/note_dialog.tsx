// A note on days of the website, which time series flag: added, changed or deleted where they are drawn.
import { useState } from "preact/hooks";
import { fetchJson } from "../api/request";
import { subjectQuery } from "../api/session";
import { refresh } from "../api/use";
import { instantLabel } from "../state/format";
import { texts } from "../texts";
import type { Schemas } from "../types";
import { Dialog } from "./dialog";
import { FormFooter } from "./form_footer";
import { formMessage } from "./form_message";

const PATH = "/v1/annotations";
const DATE = 10;
const t = texts.chart.note;

/** One that is stored, or a new one. */
export type Annotation = Pick<Schemas["SeriesAnnotation"], "start" | "text"> & Partial<Schemas["SeriesAnnotation"]>;

export function NoteDialog({ note: { id, start, end, text }, close }: { note: Annotation; close: () => void }) {
  const [values, setValues] = useState({ start, end: end ?? "", text });
  const [error, setError] = useState("");
  const set = (name: keyof typeof values) => ({ currentTarget: { value } }: { currentTarget: { value: string } }) => setValues((all) => ({ ...all, [name]: value }));
  const attempt = async (work: Promise<unknown>) => {
    try {
      await work;
      close();
      refresh();
    } catch (problem) {
      setError(formMessage(problem, t.labels));
    }
  };
  const save = (event: Event) => {
    event.preventDefault();
    const body = { ...values, end: values.end || null };
    void attempt(id ? fetchJson(`${PATH}/${id}`, { method: "PATCH", body }) : fetchJson(PATH, { query: subjectQuery.value, body }));
  };
  const isDay = start.length === DATE; // an instant, which only the API can give, stays as it is
  return (
    <Dialog title={id ? t.change : t.add} close={close}>
      <form class="form" onSubmit={save}>
        <label>{t.labels.text}<input name="text" required maxLength={1000} value={values.text} placeholder={t.placeholder} onInput={set("text")} /></label>
        {isDay && <label>{t.labels.start}<input name="start" type="date" required value={values.start} onInput={set("start")} /></label>}
        {isDay && <label>{t.labels.end}<input name="end" type="date" min={values.start} value={values.end} onInput={set("end")} /></label>}
        <p class="quiet">{t.hint}</p>
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={t.save} close={close} danger={id ? { label: t.delete, run: () => void attempt(fetchJson(`${PATH}/${id}`, { method: "DELETE" })) } : undefined} />
      </form>
    </Dialog>
  );
}

/** First and last bucket of a note; null where its begin is not among the labels. */
export function notePosition({ start, end }: Pick<Schemas["SeriesAnnotation"], "start" | "end">, labels: string[], timeZone: string): [number, number] | null {
  const at = (moment: string) => labels.findLastIndex((label) => label <= moment);
  const from = at(start.length === DATE ? `${start} 00:00:00` : instantLabel(start, timeZone));
  const to = end ? at(end.length === DATE ? `${end} 23:59:59` : instantLabel(end, timeZone)) : from;
  if (to < 0) return null;
  return [Math.max(0, from), to];
}
