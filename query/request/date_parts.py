"""Date parts: the hour of the day and the day of the week of an instant, in a time zone.

Integer arithmetic on the local time, as buckets have it; no calendar function of the engine.
"""

from enum import StrEnum

from query.request.buckets import MONDAY_OFFSET_MS, WEEK_MS, local_ms_sql
from query.request.time_range import TimeRange, utc_offset_periods
from query.request.time_zones import DAY_MS
from query.sql.fragment import Fragment

HOUR_MS = 3_600_000


class DatePart(StrEnum):
    """A number that returns every day or every week."""

    HOUR_OF_DAY = "hour_of_day"
    DAY_OF_WEEK = "day_of_week"


DESCRIPTIONS = {
    DatePart.HOUR_OF_DAY: "hour of the local day, 0 to 23",
    DatePart.DAY_OF_WEEK: "local day of the week, 1 (Monday) to 7 (Sunday)",
}


def date_part_sql(ms: str, time_range: TimeRange, part: DatePart) -> Fragment:
    """SQL for a date part of an instant in Unix milliseconds."""
    local = local_ms_sql(ms, utc_offset_periods(time_range))
    if part is DatePart.HOUR_OF_DAY:
        return Fragment(f"INT_DIV({local.text} % {DAY_MS}, {HOUR_MS})", local.values)
    monday_first = f"({local.text} + {MONDAY_OFFSET_MS}) % {WEEK_MS}"
    return Fragment(f"INT_DIV({monday_first}, {DAY_MS}) + 1", local.values)
