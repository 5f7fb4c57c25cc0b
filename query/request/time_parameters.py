"""Moments: the dates and instants that requests give, and the names of spans that everyone knows.

A date is a day of the zone; a time without an offset is a time of the zone. An end belongs to the
span as far as it is told: a day, a minute, a second or a millisecond.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta

from query.request import time_zones
from query.request.suggestions import unknown
from query.request.time_range import FIRST_DAY, LAST_DAY, Span, bounded, span
from query.request.time_zones import DAY_MS
from schemas.errors import Malformed

FORMS = "give a date as YYYY-MM-DD, a time as YYYY-MM-DD HH:MM:SS or an ISO 8601 instant"
TIME = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?P<second>:\d\d(?P<fraction>\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?"
)

Days = tuple[date, date]


def _last(days: int) -> Callable[[date], Days]:
    return lambda today: (today - timedelta(days=days - 1), today)


def _yesterday(today: date) -> Days:
    return today - timedelta(days=1), today - timedelta(days=1)


def _this_week(today: date) -> Days:
    return today - timedelta(days=today.weekday()), today


def _last_week(today: date) -> Days:
    monday = today - timedelta(days=today.weekday())
    return monday - timedelta(days=7), monday - timedelta(days=1)


def _last_month(today: date) -> Days:
    last = today.replace(day=1) - timedelta(days=1)
    return last.replace(day=1), last


PRESETS: Mapping[str, Callable[[date], Days]] = {
    "today": _last(1),
    "yesterday": _yesterday,
    "last_7d": _last(7),
    "last_14d": _last(14),
    "last_30d": _last(30),
    "last_90d": _last(90),
    "this_week": _this_week,
    "last_week": _last_week,
    "this_month": lambda today: (today.replace(day=1), today),
    "last_month": _last_month,
    "this_year": lambda today: (today.replace(month=1, day=1), today),
}
"""Whole days of the zone; `last_7d` ends with today, a week begins on Monday."""


def asked_span(
    start: str | None,
    end: str | None,
    preset: str | None,
    zone: str,
    now_ms: int,
    most_days: int,
) -> Span:
    """The span of a request; Malformed names the member and the rule."""
    if start is None and end is None and preset is not None:
        return span(*_preset(preset)(time_zones.local(now_ms, zone).date()), zone, most_days)
    if start is None or end is None:
        missing = "startDate" if start is None else "endDate"
        raise Malformed(
            f"'{missing}' is missing: give 'startDate' and 'endDate', or 'preset' as one of "
            + ", ".join(PRESETS)
        )
    if len(start) == len(end) == 10:
        return span(day("startDate", start), day("endDate", end), zone, most_days)
    made = Span(_bound("startDate", start, zone), _bound("endDate", end, zone, last=True), zone)
    if made.end_ms <= made.start_ms:
        raise Malformed(f"'endDate' is {end}, which is before 'startDate' {start}")
    bounded(-(-(made.end_ms - made.start_ms) // DAY_MS), most_days)
    return made


def day(field: str, text: str) -> date:
    """The date of a `YYYY-MM-DD`."""
    try:
        if len(text) == 10:
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise Malformed(f"'{field}' is '{text[:40]}'; {FORMS}")


def _preset(name: str) -> Callable[[date], Days]:
    if name not in PRESETS:
        raise Malformed(unknown("preset", name, PRESETS))
    return PRESETS[name]


def _bound(field: str, text: str, zone: str, *, last: bool = False) -> int:
    """Unix milliseconds of a bound; of the `last` the moment at which what it names is over."""
    if len(text) == 10:
        at = datetime.combine(day(field, text), datetime.min.time())
        over = timedelta(days=1)
    else:
        at, over = _time(field, text)
    if not FIRST_DAY < at.date() < LAST_DAY:
        raise Malformed(f"'{field}' must be after {FIRST_DAY} and before the future")
    if at.tzinfo is None:
        return time_zones.instant(at + over if last else at, zone, last=last and len(text) > 10)
    ms = (at.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return ms + (over // timedelta(milliseconds=1) if last else 0)


def _time(field: str, text: str) -> tuple[datetime, timedelta]:
    """The time, and how long what it names lasts."""
    found = TIME.fullmatch(text)
    try:
        if found:
            unit = timedelta(minutes=1)
            if found["second"]:
                unit = timedelta(milliseconds=1) if found["fraction"] else timedelta(seconds=1)
            at = datetime.fromisoformat(text)
            return at.replace(microsecond=at.microsecond // 1000 * 1000), unit
    except ValueError:
        pass
    raise Malformed(f"'{field}' is '{text[:40]}'; {FORMS}")
