// An input for one day: typed, or chosen in a calendar.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { timezone } from "../api/session";
import { FIRST_DAY, today } from "../state/period";
import { DAY_EXAMPLE, dayOfText, textOfDay } from "../state/typed_days";
import { texts } from "../texts";
import type { CalendarProps } from "./calendar";
import { Icon } from "./icon";
import { lazy, Suspense } from "./lazy";
import { Popover } from "./popover";

const t = texts.calendar;
const Lazy = lazy<CalendarProps>(() => import("./calendar"));

/** The calendar, with as much room before it is loaded. */
export function LazyCalendar(props: CalendarProps) {
  return <Suspense fallback={<div class={`calendar-room months-${props.months}`} />}><Lazy {...props} /></Suspense>;
}

interface Props {
  name?: string;
  /** `YYYY-MM-DD`, or empty. */
  value: string;
  min?: string;
  max?: string;
  required?: boolean;
  /** Read aloud, where no label is around the field. */
  label?: string;
  /** What it says while it is empty, in place of an example. */
  placeholder?: string;
  /** Whether it has a calendar; there may be one beside it. */
  calendar?: boolean;
  change: (day: string) => void;
}

/** Its input stands in a label, or has one of its own. */
export function DateField({ name, value, min = FIRST_DAY, max, required, label, placeholder = DAY_EXAMPLE, calendar = true, change }: Props) {
  const [typed, setTyped] = useState({ text: value && textOfDay(value), day: value });
  const input = useRef<HTMLInputElement>(null);
  const text = typed.day === value ? typed.text : value && textOfDay(value);
  const problem = !text.trim() || isWithin(dayOfText(text), min, max) ? "" : t.invalid(DAY_EXAMPLE);
  useLayoutEffect(() => input.current!.setCustomValidity(problem), [problem]); // before the form can be sent
  const type = (next: string) => {
    const day = dayOfText(next);
    const meant = isWithin(day, min, max) ? day! : "";
    setTyped({ text: next, day: meant });
    change(meant);
  };
  return (
    <span class="date-field">
      <input ref={input} name={name} required={required} value={text} placeholder={placeholder} aria-label={label} autocomplete="off"
        onInput={(e) => type(e.currentTarget.value)} />
      {calendar && (
        <Popover label={<Icon name="calendar" />} name={t.open} className="icon" panel="menu calendar-panel">
          {(close) => (
            <LazyCalendar value={value} min={min} max={max} today={today(timezone.value)} months={1} label={label ?? t.open}
              choose={(day) => { close(); setTyped({ text: textOfDay(day), day }); change(day); }} />
          )}
        </Popover>
      )}
    </span>
  );
}

const isWithin = (day: string | null, min: string, max?: string): boolean => day !== null && min <= day && (!max || day <= max);
