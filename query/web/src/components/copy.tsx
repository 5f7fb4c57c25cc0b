// Copies a text that nobody types: an id, a key, an address.
import { useState } from "preact/hooks";
import { texts } from "../texts";
import { Icon } from "./icon";

const SHOWN_MS = 1500;
const t = texts.request;

export function CopyButton({ text, name }: {
  text: string;
  /** What it copies, for a screen reader. */
  name: string;
}) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return (
    <button type="button" class="icon copy" aria-label={`${copied ? t.copied : t.copy}: ${name}`} title={copied ? t.copied : t.copy} onClick={() => void copy()}>
      <Icon name={copied ? "check" : "copy"} size={14} />
    </button>
  );
}

/** The text in the letters of code, with its button. */
export const Copyable = ({ text, name = text }: { text: string; name?: string }) => (
  <span class="copyable"><code>{text}</code><CopyButton text={text} name={name} /></span>
);
