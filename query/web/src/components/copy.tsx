// Copies a text that nobody types: an id, a key, an address.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { texts } from "../texts";
import { Icon } from "./icon";

const SHOWN_MS = 1500;
const t = texts.request;

/** Whether the text was just copied, and what copies it: by the old command where the page has no safe address. */
export function useCopy(text: string): [copied: boolean, copy: () => void] {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await write(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return [copied, () => void copy()];
}

async function write(text: string): Promise<void> {
  if (navigator.clipboard as Clipboard | undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area); // outside of a dialog nothing can be selected
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function CopyButton({ text, name }: {
  text: string;
  /** What it copies, for a screen reader. */
  name: string;
}) {
  const [copied, copy] = useCopy(text);
  return (
    <button type="button" class="icon copy" aria-label={`${copied ? t.copied : t.copy}: ${name}`} title={copied ? t.copied : t.copy} onClick={copy}>
      <Icon name={copied ? "check" : "copy"} size={14} />
      <span class="hidden" role="status">{copied && t.copied}</span>
    </button>
  );
}

/** The text in the letters of code, or how it is shown, with its button. */
export const Copyable = ({ text, name = text, children = text }: { text: string; name?: string; children?: ComponentChildren }) => (
  <span class="copyable"><code>{children}</code><CopyButton text={text} name={name} /></span>
);
