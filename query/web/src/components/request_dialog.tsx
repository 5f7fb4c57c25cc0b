// The request behind a number, as curl and Python, and where the number is in the answer.
import { pathWith } from "../api/request";
import { texts } from "../texts";
import { useCopy } from "./copy";
import { Dialog } from "./dialog";
import Definition, { type Defined } from "./definition";

const t = texts.request;

export interface ShownRequest {
  path: string;
  query: Record<string, string>;
  body: unknown;
  definition?: Defined;
  /** Where its numbers are in the answer. */
  answer?: AnswerPlace;
}

/** A number of a card, and the field of the answer that it is; two with ` / ` between them are divided. */
export interface AnswerField {
  label: string;
  field: string;
}

export interface AnswerPlace {
  fields: AnswerField[];
  /** Where the rows are; with `[]` at the end for each of them. */
  rows: string;
  /** Where the changes of the rows are, of a compared query. */
  changes?: string;
  /** What differs between the page and the answer. */
  remark?: string;
}

const url = ({ path, query }: ShownRequest): string => location.origin + pathWith(path, query);

const asCurl = (request: ShownRequest): string =>
  [
    `curl -s -X POST ${quoted(url(request))} \\`,
    "  -H 'Authorization: Bearer YOUR_KEY' -H 'Content-Type: application/json' \\",
    `  -d ${quoted(JSON.stringify(request.body))}`,
  ].join("\n");

const asPython = (request: ShownRequest): string =>
  [
    "import json",
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${JSON.stringify(url(request))},`,
    `    data=${JSON.stringify(JSON.stringify(request.body))}.encode(),`,
    '    headers={"Authorization": "Bearer YOUR_KEY", "Content-Type": "application/json"},',
    ")",
    "print(json.load(urllib.request.urlopen(request)))",
  ].join("\n");

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export default function RequestDialog({ request, close }: { request: ShownRequest; close: () => void }) {
  return (
    <Dialog title={t.title} close={close} wide>
      {request.definition && <p><strong>{t.definition}.</strong> <Definition of={request.definition} /></p>}
      {request.answer && <AnswerFields {...request.answer} />}
      <Snippet label="curl" text={asCurl(request)} />
      <Snippet label="Python" text={asPython(request)} />
      <p class="quiet">{t.note}</p>
    </Dialog>
  );
}

function AnswerFields({ fields, rows, changes, remark }: AnswerPlace) {
  const place = (field: string) => field.split(" / ").map((name) => `${rows}.${name}`).join(" / ");
  return (
    <section>
      <h3>{t.answer}</h3>
      <dl class="answer-fields">
        {fields.map(({ label, field }) => (
          <div key={label}><dt>{label}</dt><dd><code>{place(field)}</code></dd></div>
        ))}
        {changes && <div><dt>{texts.breakdowns.change}</dt><dd><code>{changes}</code></dd></div>}
      </dl>
      <p class="quiet">{t.eachRow} {remark}</p>
    </section>
  );
}

export function Snippet({ label, text }: { label: string; text: string }) {
  const [copied, copy] = useCopy(text);
  return (
    <section class="snippet">
      <header>
        <h3>{label}</h3>
        <button type="button" class="button" onClick={copy}>{copied ? t.copied : t.copy}</button>
      </header>
      <pre tabIndex={0}>{text}</pre>
    </section>
  );
}
