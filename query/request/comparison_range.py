"""Compared spans: the period before, the same dates a year before, or dates of one's own."""

from datetime import date, datetime, timedelta

from msgspec import Struct

from query.request import time_zones
from query.request.suggestions import unknown
from query.request.time_parameters import asked_span
from query.request.time_range import FIRST_DAY, Span, span
from schemas.errors import Malformed

TO = ("previous_period", "previous_year")


class Dates(Struct, frozen=True, rename="camel"):
    """Dates of one's own."""

    start_date: str
    end_date: str


class Compare(Struct, frozen=True):
    """What an answer is held against."""

    to: str | Dates


def other_span(compare: Compare, whole: Span, now_ms: int, most_days: int) -> Span:
    """The span to compare with; Malformed names the member and the rule."""
    to = compare.to
    if isinstance(to, Dates):
        return asked_span(to.start_date, to.end_date, None, whole.zone, now_ms, most_days)
    if to not in TO:
        raise Malformed(unknown("comparison", to, TO, " in 'compare.to'"))
    return _before(whole, most_days) if to == TO[0] else _year_before(whole, most_days)


def _before(whole: Span, most_days: int) -> Span:
    """As many days (or as much time, when it is not days) up to where the span begins."""
    if whole.days is None:
        return _late(Span(2 * whole.start_ms - whole.end_ms, whole.start_ms, whole.zone))
    first, beyond = whole.days
    return span(first - (beyond - first), first - timedelta(days=1), whole.zone, most_days)


def _year_before(whole: Span, most_days: int) -> Span:
    """The same dates; 29 February is held against the 28th."""
    if whole.days is not None:
        first, beyond = whole.days
        last = beyond - timedelta(days=1)
        return span(_last_year(first), _last_year(last), whole.zone, most_days + 1)
    start, end = (_moved(ms, whole.zone) for ms in (whole.start_ms, whole.end_ms))
    return _late(Span(start, end, whole.zone))


def _moved(ms: int, zone: str) -> int:
    there = time_zones.local(ms, zone)
    return time_zones.instant(datetime.combine(_last_year(there.date()), there.time()), zone)


def _last_year(at: date) -> date:
    leap_day = (at.month, at.day) == (2, 29)
    return at.replace(year=at.year - 1, day=28 if leap_day else at.day)


def _late(found: Span) -> Span:
    if found.start_ms <= 0:
        raise Malformed(f"'compare.to' leads to before {FIRST_DAY}")
    return found
