"""Compared spans: the period before, the same dates a year before, or dates of one's own."""

from datetime import date, datetime, timedelta

from msgspec import Struct

from query.request import time_zones
from query.request.suggestions import unknown_name_message
from query.request.time_parameters import parse_time_range
from query.request.time_range import FIRST_DAY, TimeRange, time_range
from schemas.errors import Malformed

PERIODS = ("previous_period", "previous_year")


class ComparisonDates(Struct, frozen=True, rename="camel"):
    """Dates of one's own."""

    start_date: str
    end_date: str


class CompareOptions(Struct, frozen=True):
    """What an answer is held against."""

    to: str | ComparisonDates


def comparison_range(
    compare: CompareOptions, whole: TimeRange, now_ms: int, most_days: int
) -> TimeRange:
    """The span to compare with; Malformed names the member and the rule."""
    to = compare.to
    if isinstance(to, ComparisonDates):
        return parse_time_range(to.start_date, to.end_date, None, whole.zone, now_ms, most_days)
    if to not in PERIODS:
        raise Malformed(unknown_name_message("comparison", to, PERIODS, " in 'compare.to'"))
    return (
        _previous_period(whole, most_days) if to == PERIODS[0] else _previous_year(whole, most_days)
    )


def _previous_period(whole: TimeRange, most_days: int) -> TimeRange:
    """As many days (or as much time, when it is not days) up to where the span begins."""
    if whole.days is None:
        return _checked_range(
            TimeRange(2 * whole.start_ms - whole.end_ms, whole.start_ms, whole.zone)
        )
    first, beyond = whole.days
    return time_range(first - (beyond - first), first - timedelta(days=1), whole.zone, most_days)


def _previous_year(whole: TimeRange, most_days: int) -> TimeRange:
    """The same dates; 29 February is held against the 28th."""
    if whole.days is not None:
        first, beyond = whole.days
        last = beyond - timedelta(days=1)
        return time_range(_last_year(first), _last_year(last), whole.zone, most_days + 1)
    start, end = (_shift_year(ms, whole.zone) for ms in (whole.start_ms, whole.end_ms))
    return _checked_range(TimeRange(start, end, whole.zone))


def _shift_year(ms: int, zone: str) -> int:
    there = time_zones.to_local(ms, zone)
    return time_zones.to_unix_ms(datetime.combine(_last_year(there.date()), there.time()), zone)


def _last_year(at: date) -> date:
    leap_day = (at.month, at.day) == (2, 29)
    return at.replace(year=at.year - 1, day=28 if leap_day else at.day)


def _checked_range(found: TimeRange) -> TimeRange:
    if found.start_ms <= 0:
        raise Malformed(f"'compare.to' leads to before {FIRST_DAY}")
    return found
