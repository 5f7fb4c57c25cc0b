"""Time ranges of realtime types: last minutes, today; the requested dates do not matter."""

from datetime import timedelta

from query.request.time_range import TimeRange
from query.request.time_zones import to_local, to_unix_ms
from query.standard.declaration.statement import TimeRangeOverride

MINUTE_MS = 60_000
CLOCK_SKEW_MS = 5 * MINUTE_MS
"""Tolerance for visitors' clocks that are ahead of ours."""


def last_minutes(minutes: int) -> TimeRangeOverride:
    """The last minutes up to now."""

    def override(requested: TimeRange, now_ms: int) -> TimeRange:
        return TimeRange(now_ms - minutes * MINUTE_MS, now_ms + CLOCK_SKEW_MS, requested.zone)

    return override


def today(requested: TimeRange, now_ms: int) -> TimeRange:
    """The current day in the time zone."""
    midnight = to_local(now_ms, requested.zone).replace(hour=0, minute=0, second=0, microsecond=0)
    ends = (midnight, midnight + timedelta(days=1))
    start_ms, end_ms = (to_unix_ms(end, requested.zone) for end in ends)
    return TimeRange(start_ms, end_ms, requested.zone)
