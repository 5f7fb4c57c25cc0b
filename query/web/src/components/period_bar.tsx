// Time range, comparison, interval, time zone and bots.
import { useState } from "preact/hooks";
import { isShared, timezone, website } from "../api/session";
import { address, COMPARISONS, type Comparison, go } from "../state/address";
import { formatDays } from "../state/format";
import { countDays, daysOf, formatPeriod, type Period, presetOf, PRESETS, shiftPeriod } from "../state/period";
import { currentName, localZone, zoneNames } from "../state/time_zones";
import { texts } from "../texts";
import { MenuItem, Popover } from "./popover";

const t = texts.period;

const periodName = (period: Period): string =>
  typeof period === "string" ? t.presets[period]! : formatDays(period);

const shifted = (direction: 1 | -1): Period => shiftPeriod(address.value.period, direction, timezone.value);
export const shift = (direction: 1 | -1): void => go({ period: shifted(direction) });

/** Whether there is no period on this side: it would begin in the future, or before 1970. */
const isLast = (direction: 1 | -1): boolean => formatPeriod(shifted(direction)) === formatPeriod(address.value.period);

/** `compares`: whether the view compares its numbers. */
export function PeriodBar({ compares }: { compares: boolean }) {
  const { period, compare } = address.value;
  const comparison = t.comparisons[compare] ?? formatDays(parseDays(compare));
  const days = formatDays(daysOf(period, timezone.value));
  return (
    <>
      <p class="print-only">{t.printed(days, timezone.value, compares ? comparison : t.comparisons.none!)}</p>
      <div class="period" role="group" aria-label={t.label}>
        <button type="button" class="icon" aria-label={t.previous} title={`${t.previous} (←)`} disabled={isLast(-1)} onClick={() => shift(-1)}>‹</button>
        <Popover label={<>{periodName(period)}{typeof period === "string" && <small class="wide-only">{days}</small>}</>}
          name={`${t.label}: ${periodName(period)}${typeof period === "string" ? `, ${days}` : ""}`} className="button strong">
          {(close) => <PeriodMenu close={close} />}
        </Popover>
        <button type="button" class="icon" aria-label={t.next} title={isLast(1) ? t.noneLater : `${t.next} (→)`} disabled={isLast(1)} onClick={() => shift(1)}>›</button>
        {compares && (
          <Popover label={comparison} name={`${t.compare}: ${t.comparisons[compare] ?? compare}`}
            className="button wide-only">
            {(close) => <CompareMenu close={close} />}
          </Popover>
        )}
        <Popover label={timezone.value === website.value?.timezone ? t.options : t.optionsIn(timezone.value)} panel="note form"
          className="button wide-only options">
          {() => <Options />}
        </Popover>
        <Popover label="⋯" name={compares ? t.more : t.options} className="icon phone-only">
          {(close) => (
            <>
              {compares && <strong class="menu-title">{t.compare}</strong>}
              {compares && <CompareMenu close={close} />}
              <div class="dates"><strong>{t.options}</strong><Options /></div>
            </>
          )}
        </Popover>
      </div>
    </>
  );
}

const parseDays = (text: string) => {
  const [start = "", end = ""] = text.split("..");
  return { start, end };
};

function PeriodMenu({ close }: { close: () => void }) {
  const { period } = address.value;
  const choose = (chosen: Period) => {
    close();
    go({ period: chosen, granularity: null });
  };
  return (
    <>
      {PRESETS.map((each) => (
        <MenuItem key={each} chosen={period === each} onClick={() => choose(each)}>{t.presets[each]}</MenuItem>
      ))}
      <DatesForm start={daysOf(period, timezone.value)} choose={(days) => choose(presetOf(days, timezone.value))} />
    </>
  );
}

function DatesForm({ start, choose }: { start: { start: string; end: string }; choose: (days: { start: string; end: string }) => void }) {
  const [days, setDays] = useState(start);
  const submit = (event: Event) => {
    event.preventDefault();
    choose(days.start <= days.end ? days : { start: days.end, end: days.start });
  };
  return (
    <form class="dates" onSubmit={submit}>
      <strong>{t.custom}</strong>
      <label>{t.from}<input type="date" required value={days.start} onInput={(e) => setDays({ ...days, start: e.currentTarget.value })} /></label>
      <label>{t.to}<input type="date" required value={days.end} onInput={(e) => setDays({ ...days, end: e.currentTarget.value })} /></label>
      <button type="submit" class="button primary">{t.apply}</button>
    </form>
  );
}

function CompareMenu({ close }: { close: () => void }) {
  const { period, compare } = address.value;
  const choose = (chosen: Comparison) => {
    close();
    go({ compare: chosen });
  };
  const before = shiftPeriod(period, -1, timezone.value);
  return (
    <>
      {COMPARISONS.map((each) => (
        <MenuItem key={each} chosen={compare === each} onClick={() => choose(each)}>{t.comparisons[each]}</MenuItem>
      ))}
      <DatesForm start={daysOf(before, timezone.value)} choose={(days) => choose(formatPeriod(days) as Comparison)} />
    </>
  );
}

function Options() {
  const { bots } = address.value;
  const own = currentName(website.value?.timezone ?? "UTC");
  const shown = currentName(timezone.value);
  return (
    <>
      <label>{t.timezone}
        <select value={shown} onChange={(e) => go({ timezone: e.currentTarget.value === own ? null : e.currentTarget.value })}>
          {zoneNames([own, localZone(), shown]).map((zone) => <option key={zone} value={zone}>{zone === own ? t.ofWebsite(zone) : zone}</option>)}
        </select>
      </label>
      {!isShared() && (
        <label class="check">
          <input type="checkbox" checked={bots} onChange={(e) => go({ bots: e.currentTarget.checked })} /> {t.bots}
        </label>
      )}
    </>
  );
}

export const isOneDay = (period: Period): boolean => countDays(daysOf(period, timezone.value)) === 1;
