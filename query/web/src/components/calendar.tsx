// A calendar: one day, or the first and the last one of a range. Loaded when it is first shown.
import "cally";
import { createElement, type Ref } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { locale } from "../state/language";
import { addDays } from "../state/period";
import { weekStart } from "../state/typed_days";
import { texts } from "../texts";
import { Icon } from "./icon";

const t = texts.calendar;

interface CalendarElement extends HTMLElement {
  value: string;
  focusedDate: string;
}

export interface CalendarProps {
  /** A day, or two with a slash between; empty for none. */
  value: string;
  /** Whether two days are chosen. */
  range?: boolean;
  min: string;
  max?: string;
  /** The current day in the time zone of the page. */
  today: string;
  /** Months beside each other. */
  months: 1 | 2;
  label: string;
  choose: (value: string) => void;
}

export default function Calendar({ value, range, min, max, today, months, label, choose }: CalendarProps) {
  const element = useRef<CalendarElement>(null);
  const last = value.split("/").at(-1) || (max && max < today ? max : min > today ? min : today);
  // Of two months the chosen one is on the right: what follows is mostly in the future.
  const page = months === 2 ? addDays(`${last.slice(0, 7)}-01`, -1) : last;
  useEffect(() => {
    const timer = setTimeout(() => (element.current!.focusedDate = last));
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    const { current } = element;
    const changed = () => choose(current!.value);
    current!.addEventListener("change", changed);
    return () => current!.removeEventListener("change", changed);
  }, [choose]);
  return createElement(
    range ? "calendar-range" : "calendar-date",
    {
      ref: element as Ref<HTMLElement>, class: "calendar", role: "group", "aria-label": label, value, min, max: max ?? "", months,
      locale, today, firstDayOfWeek: weekStart(), pageBy: "single", focusedDate: page,
    } as object,
    <span key="previous" slot="previous" aria-label={t.previous} role="img"><Icon name="chevron-left" /></span>,
    <span key="next" slot="next" aria-label={t.next} role="img"><Icon name="chevron-right" /></span>,
    <div key="months" class="calendar-months">
      {createElement("calendar-month", {})}
      {months === 2 && createElement("calendar-month", { offset: 1 } as object)}
    </div>,
  );
}
