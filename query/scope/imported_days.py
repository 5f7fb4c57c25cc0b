"""Days of imported totals: whole days without a zone.

`ts` of a row of imported totals is the midnight of its day in UTC. A day of the query's zone has
the same number.
"""

from datetime import date, datetime

from query.request.time_range import TimeRange, first_whole_day
from query.request.time_zones import to_local, to_unix_ms


def whole_days(time_range: TimeRange) -> TimeRange:
    """The days of the zone that lie in the time range as a whole, as days of UTC."""
    start = first_whole_day(time_range.start_ms, time_range.zone)
    end = max(start, to_local(time_range.end_ms, time_range.zone).date())
    return TimeRange(_midnight(start, "UTC"), _midnight(end, "UTC"), "UTC")


def _midnight(day: date, zone: str) -> int:
    return to_unix_ms(datetime.combine(day, datetime.min.time()), zone)
