// Names with a number and a bar each; a click on a name filters the page.
import type { ComponentChildren } from "preact";
import { formatNumber, formatShort } from "../state/format";
import { texts } from "../texts";

export interface Bar {
  key: string;
  name: string;
  /** A flag, a logo or an icon before the name. */
  image?: ComponentChildren;
  value: number;
  /** Change in percent since the compared time range. */
  change?: number | null;
  chosen?: boolean;
  onClick?: () => void;
}

/** `most` is the value of the longest bar, where several lists are compared. */
export function BarList({ bars, valueLabel, nameLabel, most = mostOf(bars) }: { bars: Bar[]; valueLabel: string; nameLabel: string; most?: number }) {
  return (
    <table class="bars">
      <thead>
        <tr><th scope="col"><span class="hidden">{nameLabel}</span></th><th scope="col" class="number">{valueLabel}</th></tr>
      </thead>
      <tbody>
        {bars.map((bar) => (
          <tr key={bar.key} class={bar.chosen ? "chosen" : undefined}>
            <th scope="row">
              <span class="bar" style={{ width: `${(100 * bar.value) / most}%` }} />
              {bar.onClick
                ? <button type="button" class="row-link" onClick={bar.onClick} aria-pressed={bar.chosen}
                  title={(bar.chosen ? texts.breakdowns.unfilter : texts.breakdowns.filterBy)(bar.name)}>
                  {bar.image}{bar.name}
                </button>
                : <span class="row-link">{bar.image}{bar.name}</span>}
            </th>
            <td class="number" title={formatNumber(bar.value)}>{formatShort(bar.value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export const mostOf = (bars: Bar[]): number => Math.max(1, ...bars.map(({ value }) => value));
