"""Moments: the dates and instants that requests give, and the names of spans that everyone knows.

A date is a day of the zone; a time without an offset is a time of the zone. An end belongs to the
span as far as it is told: a day, a minute, a second or a millisecond.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta

from query.request import time_zones
from query.request.suggestions import unknown_name_message
from query.request.time_range import FIRST_DAY, LAST_DAY, TimeRange, check_days, time_range
from query.request.time_zones import DAY_MS
from schemas.errors import Malformed

ACCEPTED_FORMATS = "give a date as YYYY-MM-DD, a time as YYYY-MM-DD HH:MM:SS or an ISO 8601 instant"
TIME_PATTERN = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?P<second>:\d\d(?P<fraction>\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?"
)

DateRange = tuple[date, date]


def _last_days(days: int) -> Callable[[date], DateRange]:
    return lambda today: (today - timedelta(days=days - 1), today)


def _yesterday(today: date) -> DateRange:
    return today - timedelta(days=1), today - timedelta(days=1)


def _this_week(today: date) -> DateRange:
    return today - timedelta(days=today.weekday()), today


def _last_week(today: date) -> DateRange:
    monday = today - timedelta(days=today.weekday())
    return monday - timedelta(days=7), monday - timedelta(days=1)


def _last_month(today: date) -> DateRange:
    last = today.replace(day=1) - timedelta(days=1)
    return last.replace(day=1), last


PRESETS: Mapping[str, Callable[[date], DateRange]] = {
    "today": _last_days(1),
    "yesterday": _yesterday,
    "last_7d": _last_days(7),
    "last_14d": _last_days(14),
    "last_30d": _last_days(30),
    "last_90d": _last_days(90),
    "this_week": _this_week,
    "last_week": _last_week,
    "this_month": lambda today: (today.replace(day=1), today),
    "last_month": _last_month,
    "this_year": lambda today: (today.replace(month=1, day=1), today),
}
"""Whole days of the zone; `last_7d` ends with today, a week begins on Monday."""


def parse_time_range(
    start: str | None,
    end: str | None,
    preset: str | None,
    zone: str,
    now_ms: int,
    most_days: int,
) -> TimeRange:
    """The span of a request; Malformed names the member and the rule."""
    if start is None and end is None and preset is not None:
        return time_range(
            *_preset(preset)(time_zones.to_local(now_ms, zone).date()), zone, most_days
        )
    if start is None or end is None:
        missing = "startDate" if start is None else "endDate"
        raise Malformed(
            f"'{missing}' is missing: give 'startDate' and 'endDate', or 'preset' as one of "
            + ", ".join(PRESETS)
        )
    if len(start) == len(end) == 10:
        return time_range(
            parse_date("startDate", start), parse_date("endDate", end), zone, most_days
        )
    made = TimeRange(
        _parse_bound("startDate", start, zone), _parse_bound("endDate", end, zone, last=True), zone
    )
    if made.end_ms <= made.start_ms:
        raise Malformed(f"'endDate' is {end}, which is before 'startDate' {start}")
    check_days(-(-(made.end_ms - made.start_ms) // DAY_MS), most_days)
    return made


def parse_date(field: str, text: str) -> date:
    """The date of a `YYYY-MM-DD`."""
    try:
        if len(text) == 10:
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise Malformed(f"'{field}' is '{text[:40]}'; {ACCEPTED_FORMATS}")


def _preset(name: str) -> Callable[[date], DateRange]:
    if name not in PRESETS:
        raise Malformed(unknown_name_message("preset", name, PRESETS))
    return PRESETS[name]


def _parse_bound(field: str, text: str, zone: str, *, last: bool = False) -> int:
    """Unix milliseconds of a bound; of the `last` the moment at which what it names is over."""
    if len(text) == 10:
        at = datetime.combine(parse_date(field, text), datetime.min.time())
        over = timedelta(days=1)
    else:
        at, over = _parse_time(field, text)
    if not FIRST_DAY < at.date() < LAST_DAY:
        raise Malformed(f"'{field}' must be after {FIRST_DAY} and before the future")
    if at.tzinfo is None:
        return time_zones.to_unix_ms(at + over if last else at, zone, last=last and len(text) > 10)
    ms = (at.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return ms + (over // timedelta(milliseconds=1) if last else 0)


def _parse_time(field: str, text: str) -> tuple[datetime, timedelta]:
    """The time, and how long what it names lasts."""
    found = TIME_PATTERN.fullmatch(text)
    try:
        if found:
            unit = timedelta(minutes=1)
            if found["second"]:
                unit = timedelta(milliseconds=1) if found["fraction"] else timedelta(seconds=1)
            at = datetime.fromisoformat(text)
            return at.replace(microsecond=at.microsecond // 1000 * 1000), unit
    except ValueError:
        pass
    raise Malformed(f"'{field}' is '{text[:40]}'; {ACCEPTED_FORMATS}")
