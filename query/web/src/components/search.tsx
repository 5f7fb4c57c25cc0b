// A search field whose text is the parameter `q` of the view.
import { useEffect, useState } from "preact/hooks";
import { goOwn } from "../state/address";
import { texts } from "../texts";

const TYPING_MS = 250;
const t = texts.breakdowns;

export function Search({ value, label = t.search }: { value: string; label?: string }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => goOwn({ q: text, page: "" }, { replace: true }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input type="search" class="search" placeholder={label} aria-label={label} value={text}
      onInput={(event) => setText(event.currentTarget.value)} />
  );
}
