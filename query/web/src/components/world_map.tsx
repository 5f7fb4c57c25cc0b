// Countries in shades of their number; a click filters.
import { useState } from "preact/hooks";
import world from "../../generated/world.json";
import { countryName, formatNumber } from "../state/format";
import { texts } from "../texts";

const STEPS = 5;

export default function WorldMap({ values, chosen, onClick }: {
  /** Number of each two-letter country code. */
  values: Map<string, number>;
  chosen: (code: string) => boolean;
  onClick: (code: string) => void;
}) {
  const [over, setOver] = useState("");
  const most = Math.max(1, ...values.values());
  const step = (value: number) => Math.ceil(STEPS * Math.sqrt(value / most));
  const named = (code: string) => `${countryName(code)}: ${formatNumber(values.get(code) ?? 0)}`;
  return (
    <figure class="map">
      <svg viewBox="0 0 960 470" role="group" aria-label={texts.map.title}>
        {(world as [string, string][]).map(([code, path], i) => {
          const value = values.get(code) ?? 0;
          if (!value) return <path key={i} d={path} class="land" />;
          const act = () => onClick(code);
          return (
            <path key={i} d={path} class={`land step-${step(value)} ${chosen(code) ? "chosen" : ""}`} tabIndex={0}
              role="button" aria-label={named(code)} aria-pressed={chosen(code)} onClick={act}
              onKeyDown={(event) => event.key === "Enter" && act()} onPointerEnter={() => setOver(code)}
              onPointerLeave={() => setOver("")} onFocus={() => setOver(code)} onBlur={() => setOver("")} />
          );
        })}
      </svg>
      <figcaption>{over ? named(over) : " "}</figcaption>
    </figure>
  );
}
