"""Spans of their own: what happens now, and today; whatever dates a request has."""

from datetime import timedelta

from query.request.time_range import TimeRange
from query.request.time_zones import to_local, to_unix_ms
from query.standard.declaration.statement import TimeRangeOverride

MINUTE_MS = 60_000
CLOCK_SKEW_MS = 5 * MINUTE_MS
"""How far a visitor's clock may be ahead; a row from there is happening now."""


def last_minutes(minutes: int) -> TimeRangeOverride:
    """From that many minutes ago on."""

    def over(span: TimeRange, now_ms: int) -> TimeRange:
        return TimeRange(now_ms - minutes * MINUTE_MS, now_ms + CLOCK_SKEW_MS, span.zone)

    return over


def today(span: TimeRange, now_ms: int) -> TimeRange:
    """The day that it is in the zone."""
    midnight = to_local(now_ms, span.zone).replace(hour=0, minute=0, second=0, microsecond=0)
    ends = (midnight, midnight + timedelta(days=1))
    start_ms, end_ms = (to_unix_ms(each, span.zone) for each in ends)
    return TimeRange(start_ms, end_ms, span.zone)
