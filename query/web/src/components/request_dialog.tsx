// The request behind a number, as curl and Python.
import { useState } from "preact/hooks";
import { pathWith } from "../api/request";
import { texts } from "../texts";
import { Dialog } from "./dialog";
import { Definition } from "./info";

const t = texts.request;

export interface ShownRequest {
  path: string;
  query: Record<string, string>;
  body: unknown;
  definition?: string;
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

export function RequestDialog({ request, close }: { request: ShownRequest; close: () => void }) {
  return (
    <Dialog title={t.title} close={close} wide>
      {request.definition && <p><strong>{t.definition}.</strong> <Definition text={request.definition} /></p>}
      <Snippet label="curl" text={asCurl(request)} />
      <Snippet label="Python" text={asPython(request)} />
      <p class="quiet">{t.note}</p>
    </Dialog>
  );
}

export function Snippet({ label, text }: { label: string; text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
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
