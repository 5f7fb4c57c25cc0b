"""Parses `startDate`, `endDate` and `preset` into a time range.

A date is a day of the time zone; a time without an offset is local to it. The end is inclusive at
its own precision: the whole day, minute, second or millisecond.
"""

import re
from calendar import month_name, monthrange
from datetime import UTC, date, datetime, timedelta

from query.request import time_zones
from query.request.presets import PRESETS, Preset
from query.request.suggestions import unknown_name_message
from query.request.time_range import FIRST_DAY, LAST_DAY, TimeRange, check_days, time_range
from query.request.time_zones import DAY_MS
from schemas.errors import Malformed
from schemas.http.openapi import Parameter

ACCEPTED_FORMATS = "use a date (YYYY-MM-DD), a time (YYYY-MM-DD HH:MM:SS) or an ISO 8601 instant"
TIME_PATTERN = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?P<second>:\d\d(?P<fraction>\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?"
)

DATE_PATTERN = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
MONTHS = 12

EXAMPLE_DATES = {"startDate": "2026-11-01", "endDate": "2026-11-30"}
TIME_ZONE_PARAMETER = Parameter(
    "timezone", "IANA time zone, such as Europe/Berlin; overrides the body's"
)


def parse_time_range(
    start: str | None,
    end: str | None,
    preset: str | None,
    zone: str,
    now_ms: int,
    max_days: int,
) -> TimeRange:
    """The time range of a request; Malformed names the member and the rule."""
    if start is None and end is None and preset is not None:
        return time_range(
            *_preset(preset).days(time_zones.to_local(now_ms, zone).date()), zone, max_days
        )
    if start is None or end is None:
        missing, given = ("startDate", "endDate") if start is None else ("endDate", "startDate")
        if preset is not None:
            raise Malformed(f"'preset' and '{given}' are both there; leave one of them out")
        raise Malformed(
            f"'{missing}' is missing: use 'startDate' and 'endDate', or 'preset' with one of "
            + ", ".join(PRESETS)
        )
    if len(start) == len(end) == 10:
        return time_range(
            parse_date("startDate", start), parse_date("endDate", end), zone, max_days
        )
    parsed = TimeRange(
        _parse_bound("startDate", start, zone), _parse_bound("endDate", end, zone, last=True), zone
    )
    if parsed.end_ms <= parsed.start_ms:
        raise Malformed(f"'endDate' is {end}, which is before 'startDate' {start}")
    check_days(-(-(parsed.end_ms - parsed.start_ms) // DAY_MS), max_days)
    return parsed


def parse_date(field: str, text: str) -> date:
    """The date of a `YYYY-MM-DD`."""
    try:
        if len(text) == 10:
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise Malformed(_invalid_time(field, text))


def _invalid_time(field: str, text: str) -> str:
    """The error for text that is no time; it says which day or month does not exist."""
    match = DATE_PATTERN.match(text)
    problem = f"'{field}' is '{text[:40]}'"
    if match is None:
        return f"{problem}; {ACCEPTED_FORMATS}"
    year, month, day = (int(part) for part in match.groups())
    if not 1 <= month <= MONTHS:
        return f"{problem}; there is no month {month}: dates are YYYY-MM-DD"
    days = monthrange(max(year, 1), month)[1]
    if not 1 <= day <= days:
        return f"{problem}, but {month_name[month]} {year} has {days} days"
    return f"{problem}; {ACCEPTED_FORMATS}"


def _preset(name: str) -> Preset:
    if name not in PRESETS:
        raise Malformed(unknown_name_message("preset", name, PRESETS, likeness=0.9))
    return PRESETS[name]


def _parse_bound(field: str, text: str, zone: str, *, last: bool = False) -> int:
    """Unix milliseconds of a bound; with `last`, of the end of the day or unit that it names."""
    if len(text) == 10:
        local = datetime.combine(parse_date(field, text), datetime.min.time())
        unit = timedelta(days=1)
    else:
        local, unit = _parse_time(field, text)
    if not FIRST_DAY < local.date() < LAST_DAY:
        raise Malformed(f"'{field}' must be between {FIRST_DAY} and {LAST_DAY}")
    if local.tzinfo is None:
        return time_zones.to_unix_ms(
            local + unit if last else local, zone, last=last and len(text) > 10
        )
    ms = (local.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return ms + (unit // timedelta(milliseconds=1) if last else 0)


def _parse_time(field: str, text: str) -> tuple[datetime, timedelta]:
    """The time, and its precision: a minute, a second or a millisecond."""
    match = TIME_PATTERN.fullmatch(text)
    try:
        if match:
            unit = timedelta(minutes=1)
            if match["second"]:
                unit = timedelta(milliseconds=1) if match["fraction"] else timedelta(seconds=1)
            local = datetime.fromisoformat(text)
            return local.replace(microsecond=local.microsecond // 1000 * 1000), unit
    except ValueError:
        pass
    raise Malformed(_invalid_time(field, text))
