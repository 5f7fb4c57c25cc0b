// Catches what a part of the page throws while it is drawn: an error with a way on, instead of half a page.
import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useRef } from "preact/hooks";
import { address, formatAddress } from "../state/address";
import { texts } from "../texts";

const t = texts.broken;

export function Boundary({ children }: { children: ComponentChildren }) {
  const [error, retry] = useErrorBoundary((problem) => console.error(problem));
  return error ? <Broken error={error} retry={retry} /> : <>{children}</>;
}

function Broken({ error, retry }: { error: unknown; retry: () => void }) {
  const here = formatAddress(address.value);
  const failed = useRef(here);
  useEffect(() => {
    if (here !== failed.current) retry();
  }, [here]);
  const { base, view } = address.value;
  const plain = `/${[...base.split("/"), view].map(encodeURIComponent).join("/")}`;
  return (
    <section class="card broken" role="alert">
      <h2>{t.title}</h2>
      <p>{t.hint}</p>
      <p class="quiet">{String(error)}</p>
      <p class="choices">
        <button type="button" class="button primary" onClick={retry}>{t.retry}</button>
        <a class="button" href={plain}>{t.plain}</a>
        <a class="button" href="/">{t.start}</a>
      </p>
    </section>
  );
}
