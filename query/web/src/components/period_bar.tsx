// Time range, comparison, interval, time zone and bots.
import { useState } from "preact/hooks";
import { isShared, timezone, website } from "../api/session";
import { address, COMPARISONS, comparison, type Comparison, go } from "../state/address";
import { formatDays } from "../state/format";
import {
  addDays, countDays, type Days, daysOf, FIRST_DAY, formatPeriod, parseDays, type Period, type Preset, PRESET_KEYS, presetOf, PRESETS, shiftPeriod,
  today,
} from "../state/period";
import { currentName, localZone, zoneNames } from "../state/time_zones";
import { texts } from "../texts";
import { DateField, LazyCalendar } from "./date_field";
import { Icon } from "./icon";
import { MenuItem, Popover } from "./popover";

const t = texts.period;
/** Two columns of the menu: time ranges that end today or yesterday, and those of the calendar. */
const COLUMNS: Preset[][] = [
  PRESETS.slice(0, PRESETS.indexOf("this_week")),
  PRESETS.slice(PRESETS.indexOf("this_week")),
];
/** The API begins after the first day of 1970. */
const MIN_DAY = addDays(FIRST_DAY, 1);
/** Where two months fit beside each other. */
const WIDE = "(min-width: 720px)";

const periodName = (period: Period): string =>
  typeof period === "string" ? t.presets[period]! : formatDays(period);
const comparisonName = (compare: Comparison): string => t.comparisons[compare] ?? formatDays(parseDays(compare)!);

const shifted = (direction: 1 | -1): Period => shiftPeriod(address.value.period, direction, timezone.value);
export const shift = (direction: 1 | -1): void => go({ period: shifted(direction) });
export const choosePeriod = (period: Period): void => go({ period, granularity: null });

/** Whether there is no period on this side: it would begin in the future, or before 1970. */
const isLast = (direction: 1 | -1): boolean => formatPeriod(shifted(direction)) === formatPeriod(address.value.period);

/** `compares`: whether the view compares its numbers. */
export function PeriodBar({ compares }: { compares: boolean }) {
  const { period } = address.value;
  const compared = compares && period !== "all";
  const days = formatDays(daysOf(period, timezone.value));
  return (
    <>
      <p class="print-only">{t.printed(days, timezone.value, compares ? comparisonName(comparison.value) : t.comparisons.none!)}</p>
      <div class="period" role="group" aria-label={t.label}>
        <button type="button" class="icon" aria-label={t.previous} title={`${t.previous} (←)`} disabled={isLast(-1)} onClick={() => shift(-1)}><Icon name="chevron-left" /></button>
        <Popover label={<>{periodName(period)}{typeof period === "string" && <> <small class="wide-only">{days}</small></>}<Icon name="chevron-down" size={14} /></>}
          name={`${t.label}: ${periodName(period)}${typeof period === "string" ? ` ${days}` : ""}`} className="button strong"
          panel="menu period-menu" onKey={chooseByKey}>
          {(close) => <PeriodMenu close={close} />}
        </Popover>
        <button type="button" class="icon" aria-label={t.next} title={isLast(1) ? t.noneLater : `${t.next} (→)`} disabled={isLast(1)} onClick={() => shift(1)}><Icon name="chevron-right" /></button>
        {compared && (
          <Popover label={<><small>{t.versus}</small> {comparisonName(comparison.value)}<Icon name="chevron-down" size={14} /></>} name={`${t.compare}: ${t.versus} ${comparisonName(comparison.value)}`}
            className="quiet-button wide-only">
            {(close) => <CompareMenu close={close} />}
          </Popover>
        )}
        <Popover label={timezone.value === website.value?.timezone ? <Icon name="sliders-horizontal" /> : timezone.value}
          name={timezone.value === website.value?.timezone ? t.options : t.optionsIn(timezone.value)} panel="note form"
          className="quiet-button wide-only options">
          {() => <Options />}
        </Popover>
        <Popover label={<Icon name="ellipsis" />} name={compared ? t.more : t.options} className="icon phone-only">
          {(close) => (
            <>
              {compared && <strong class="menu-title">{t.compare}</strong>}
              {compared && <CompareMenu close={close} />}
              <div class="phone-options"><strong>{t.options}</strong><Options /></div>
            </>
          )}
        </Popover>
      </div>
    </>
  );
}

function chooseByKey(event: KeyboardEvent, close: () => void): void {
  const preset = PRESETS.find((each) => PRESET_KEYS[each] === event.key);
  if (!preset || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  close();
  choosePeriod(preset);
}

function PeriodMenu({ close }: { close: () => void }) {
  const { period } = address.value;
  const choose = (chosen: Period) => {
    close();
    choosePeriod(chosen);
  };
  return (
    <>
      <div class="presets">
        {COLUMNS.map((presets) => (
          <div key={presets[0]}>
            {presets.map((each) => (
              <MenuItem key={each} chosen={period === each} keys={PRESET_KEYS[each]} onClick={() => choose(each)}>{t.presets[each]}</MenuItem>
            ))}
          </div>
        ))}
      </div>
      <DatesForm days={daysOf(period, timezone.value)} max={today(timezone.value)} choose={(days) => choose(presetOf(days, timezone.value))} />
    </>
  );
}

/** Two days, in a calendar or typed. */
function DatesForm({ days, max, choose }: { days: Days; max: string; choose: (days: Days) => void }) {
  const [typed, setTyped] = useState(days);
  const submit = (event: Event) => {
    event.preventDefault();
    choose(typed.start <= typed.end ? typed : { start: typed.end, end: typed.start });
  };
  const chooseRange = (value: string) => {
    const [start = "", end = ""] = value.split("/");
    choose({ start, end });
  };
  return (
    <form class="dates" onSubmit={submit}>
      <LazyCalendar range value={`${days.start}/${days.end}`} min={MIN_DAY} max={max} today={today(timezone.value)}
        months={matchMedia(WIDE).matches ? 2 : 1} label={t.custom} choose={chooseRange} />
      <div class="typed-dates">
        <label>{t.from}<DateField required value={typed.start} min={MIN_DAY} max={max} change={(start) => setTyped({ ...typed, start })} calendar={false} /></label>
        <label>{t.to}<DateField required value={typed.end} min={MIN_DAY} max={max} change={(end) => setTyped({ ...typed, end })} calendar={false} /></label>
        <button type="submit" class="button primary">{t.apply}</button>
      </div>
    </form>
  );
}

function CompareMenu({ close }: { close: () => void }) {
  const { period, compare } = address.value;
  const [custom, setCustom] = useState(parseDays(compare) !== null);
  const choose = (chosen: Comparison) => {
    close();
    go({ compare: chosen });
  };
  const before = parseDays(compare) ?? daysOf(shiftPeriod(period, -1, timezone.value), timezone.value);
  return (
    <>
      {COMPARISONS.map((each) => (
        <MenuItem key={each} chosen={compare === each} onClick={() => choose(each)}>{t.comparisons[each]}</MenuItem>
      ))}
      {!custom && <MenuItem onClick={() => setCustom(true)}>{t.custom} …</MenuItem>}
      {custom && <DatesForm days={before} max={today(timezone.value)} choose={(days) => choose(formatPeriod(days) as Comparison)} />}
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
