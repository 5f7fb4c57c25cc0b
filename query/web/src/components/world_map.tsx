// Countries in shades of their number, zoomed and moved to reach the small ones; a click filters.
import { useRef, useState } from "preact/hooks";
import world from "../../generated/world.json";
import { countryName, formatNumber, formatPercent } from "../state/format";
import { moreTexts } from "../texts.more";
import { Icon } from "./icon";
import { Flag } from "./logo";
import { usePanZoom } from "./pan_zoom";

const t = moreTexts.map;
const [WIDTH, HEIGHT] = [960, 470];
const SHADES = 5;
const DOT = 3.5;
const SHAPES = world.shapes as [code: string, path: string][];
const DOTS = world.dots as [code: string, x: number, y: number][];

export interface CountryValue {
  code: string;
  value: number;
  /** Percent of all visitors. */
  share: number | null;
}

export default function WorldMap({ countries, chosen, onClick }: {
  countries: CountryValue[];
  chosen: (code: string) => boolean;
  onClick: (code: string) => void;
}) {
  const svg = useRef<SVGSVGElement>(null);
  const { view, handlers, zoomIn, zoomOut, reset, wasDragged, isLargest, show } = usePanZoom(svg, WIDTH, HEIGHT);
  const [over, setOver] = useState<{ code: string; x: number; y: number } | null>(null);
  const values = new Map(countries.map((each) => [each.code, each]));
  const most = Math.max(1, ...countries.map(({ value }) => value));
  const named = ({ code, value, share }: CountryValue) =>
    `${countryName(code)}: ${formatNumber(value)}${share === null ? "" : ` (${formatPercent(share, 2)})`}`;
  /** Beside the pointer, or the middle of what has the focus; in percent of the map. */
  const point = (code: string, x: number, y: number) => setOver({ code, x: (100 * x) / WIDTH, y: (100 * y) / HEIGHT });
  const control = (country: CountryValue) => {
    const { code } = country;
    const act = () => onClick(code);
    return {
      class: `land shade-${shadeOf(country.value, most)} ${chosen(code) ? "chosen" : ""}`,
      role: "button" as const, tabIndex: 0, "aria-label": named(country), "aria-pressed": chosen(code),
      onClick: () => wasDragged() || act(),
      onKeyDown: (event: KeyboardEvent) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        act();
      },
      onPointerMove: (event: PointerEvent) => {
        const box = svg.current!.getBoundingClientRect();
        point(code, ((event.clientX - box.left) * WIDTH) / box.width, ((event.clientY - box.top) * HEIGHT) / box.height);
      },
      onPointerLeave: () => setOver(null),
      onFocus: (event: FocusEvent) => {
        const { x, y, width, height } = (event.currentTarget as SVGGraphicsElement).getBBox();
        const [middle, center] = [x + width / 2, y + height / 2];
        show([middle, center]);
        point(code, middle * view.scale + view.x, center * view.scale + view.y);
      },
      onBlur: () => setOver(null),
    };
  };
  const shown = over && values.get(over.code);
  return (
    <figure class="map">
      <div class={`map-frame ${view.scale > 1 ? "zoomed" : ""}`}>
        <svg ref={svg} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label={t.title} {...handlers}>
          <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
            {SHAPES.map(([code, path], i) => {
              const country = values.get(code);
              return country?.value ? <path key={i} d={path} {...control(country)} /> : <path key={i} d={path} class="land" />;
            })}
            {DOTS.map(([code, x, y]) => {
              const country = values.get(code);
              return country?.value ? <circle key={code} cx={x} cy={y} r={DOT / view.scale ** .7} {...control(country)} /> : null;
            })}
          </g>
        </svg>
        <span class="map-buttons">
          <button type="button" class="icon" aria-label={t.zoomIn} title={t.zoomIn} disabled={isLargest} onClick={zoomIn}><Icon name="plus" /></button>
          <button type="button" class="icon" aria-label={t.zoomOut} title={t.zoomOut} disabled={view.scale === 1} onClick={zoomOut}><Icon name="minus" /></button>
          <button type="button" class="icon" aria-label={t.reset} title={t.reset} disabled={view.scale === 1} onClick={reset}><Icon name="maximize" /></button>
        </span>
        {shown && (
          <div class={`hover map-hover ${over.x > 60 ? "left" : ""} ${over.y > 60 ? "above" : ""}`} style={{ left: `${over.x}%`, top: `${over.y}%` }}>
            <b><Flag country={shown.code} /> {countryName(shown.code)}</b>
            <span>{t.visitors(shown.value, formatNumber(shown.value))}{shown.share !== null && ` · ${formatPercent(shown.share, 2)}`}</span>
          </div>
        )}
      </div>
      <figcaption><Legend most={most} /><span class="map-hint">{t.hint}</span></figcaption>
    </figure>
  );
}

const shadeOf = (value: number, most: number): number => Math.max(1, Math.ceil(SHADES * Math.sqrt(value / most)));
/** The largest value of a shade. */
const upTo = (shade: number, most: number): number => Math.floor(most * (shade / SHADES) ** 2);

function Legend({ most }: { most: number }) {
  const shades = Array.from({ length: SHADES }, (_, i) => i + 1).filter((shade) => upTo(shade, most) > upTo(shade - 1, most));
  return (
    <ol class="map-legend" aria-label={t.legend}>
      {shades.map((shade) => {
        const [from, to] = [upTo(shade - 1, most) + 1, upTo(shade, most)].map(formatNumber);
        return <li key={shade} class={`shade-${shade}`}><span />{from === to ? to : t.range(from!, to!)}</li>;
      })}
    </ol>
  );
}
