"""Buckets of a time zone, found by reading the wall clock step by step.

Nothing is computed from offsets. A bucket is what a clock on the wall shows, together with how far
that clock is from UTC, so that an hour which occurs twice is two buckets.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

QUARTER = 900_000
"""Since 1973 every zone is a whole number of quarters of an hour away from UTC."""

MINUTE = 60_000

Bucket = tuple[str, int]
"""Its label, and for hours and minutes the clock's distance from UTC in seconds."""


def wall(ms: int, zone: str) -> datetime:
    """Local time in the zone."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).astimezone(
        ZoneInfo(zone)
    )


def first_instant(day: date, zone: str) -> int:
    """The start of a day: the first quarter of an hour with its local date, or a later one."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    ms = round(midnight.timestamp()) * 1000 - 30 * 4 * QUARTER
    while wall(ms, zone).date() < day:
        ms += QUARTER
    return ms


def bounds(start: date, end: date, zone: str) -> tuple[int, int]:
    """The first instant of the first day, and the first after the last day."""
    return first_instant(start, zone), first_instant(end + timedelta(days=1), zone)


@lru_cache(100_000)
def bucket(ms: int, zone: str, granularity: str) -> Bucket:
    """The bucket of an instant."""
    there = wall(ms, zone)
    distance = there.utcoffset() or timedelta()
    seconds = round(distance.total_seconds())
    if granularity == "minute":
        return f"{there:%Y-%m-%d %H:%M}:00", seconds
    if granularity == "quarter_hour":
        return f"{there:%Y-%m-%d %H}:{there.minute // 15 * 15:02}:00", seconds
    if granularity == "hourly":
        return f"{there:%Y-%m-%d %H}:00:00", seconds
    day = there.date()
    if granularity == "weekly":
        day -= timedelta(days=day.weekday())
    if granularity == "sunday_week":
        day -= timedelta(days=day.isoweekday() % 7)
    if granularity == "monthly":
        day = day.replace(day=1)
    if granularity == "quarterly":
        day = day.replace(month=day.month - (day.month - 1) % 3, day=1)
    if granularity == "yearly":
        day = day.replace(month=1, day=1)
    return day.isoformat(), 0


def points(start_ms: int, end_ms: int, zone: str, granularity: str) -> list[Bucket]:
    """Every bucket between two instants, in the order of time."""
    step = MINUTE if granularity == "minute" else QUARTER
    return list(dict.fromkeys(_walked(start_ms, end_ms, zone, granularity, step)))


def _walked(start_ms: int, end_ms: int, zone: str, granularity: str, step: int) -> Iterator[Bucket]:
    for ms in range(start_ms, end_ms, step):
        yield bucket(ms, zone, granularity)


def iso(ms: int | None) -> str | None:
    """An instant as answers write it."""
    if ms is None:
        return None
    return wall(ms, "UTC").strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"
