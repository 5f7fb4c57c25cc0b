// A note on days of the website, which time series flag: added, changed or deleted where they are drawn.
import { useState } from "preact/hooks";
import { fetchJson } from "../api/request";
import { subjectQuery } from "../api/session";
import { refresh } from "../api/use";
import { type Annotation, DATE } from "../state/notes";
import { texts } from "../texts";
import { DateField } from "./date_field";
import { Dialog } from "./dialog";
import { FormFooter } from "./form_footer";
import { formMessage } from "./form_message";

const PATH = "/v1/annotations";
const t = texts.chart.note;

export default function NoteDialog({ note: { id, start, end, text }, close }: { note: Annotation; close: () => void }) {
  const [values, setValues] = useState({ start, end: end ?? "", text });
  const [error, setError] = useState("");
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
        <label>{t.labels.text}<input name="text" required maxLength={1000} value={values.text} placeholder={t.placeholder} onInput={(e) => setValues({ ...values, text: e.currentTarget.value })} /></label>
        {isDay && <label>{t.labels.start}<DateField name="start" required value={values.start} change={(start) => setValues((all) => ({ ...all, start }))} /></label>}
        {isDay && <label>{t.labels.end}<DateField name="end" min={values.start} value={values.end} change={(end) => setValues((all) => ({ ...all, end }))} /></label>}
        <p class="quiet">{t.hint}</p>
        {error && <p class="error" role="alert">{error}</p>}
        <FormFooter submit={t.save} close={close} danger={id ? { label: t.delete, run: () => void attempt(fetchJson(`${PATH}/${id}`, { method: "DELETE" })) } : undefined} />
      </form>
    </Dialog>
  );
}
