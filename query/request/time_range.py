"""Time range in UTC with its time zone."""

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from functools import partial

from msgspec import Struct

from query.request import buckets, time_zones
from query.request.buckets import WIDTH_MS, Granularity
from query.request.time_zones import DAY_MS, UtcOffsetPeriod, check_time_zone
from query.sql.fragment import Fragment
from schemas.errors import Malformed

__all__ = [
    "Granularity",
    "SeriesPoint",
    "TimeRange",
    "UtcOffsetPeriod",
    "check_time_zone",
    "time_range",
    "utc_offset_periods",
]

MAX_POINTS = 10_000
FIRST_DAY = date(1970, 1, 1)
LAST_DAY = date(9000, 1, 1)


class SeriesPoint(Struct, frozen=True):
    """One bucket of a series: its number in SQL and its label in the result."""

    bucket: int
    label: str


class TimeRange(Struct, frozen=True):
    """start <= instant < end, and the time zone of its days."""

    start_ms: int
    end_ms: int
    zone: str

    def bucket_sql(self, ms: str, granularity: Granularity) -> Fragment:
        """The expression that numbers the bucket of an instant given as Unix milliseconds."""
        return buckets.bucket_sql(ms, utc_offset_periods(self), granularity)

    def points(self, granularity: Granularity) -> list[SeriesPoint]:
        """Every bucket of the time range, in order; Malformed when there are too many."""
        if (count := self.point_count(granularity)) > MAX_POINTS:
            raise Malformed(
                f"'granularity' {granularity.value} gives {count:,} data points; at most "
                f"{MAX_POINTS:,} are allowed; use a shorter time range or a coarser granularity"
            )
        return [
            SeriesPoint(*bucket)
            for bucket in buckets.list_buckets(utc_offset_periods(self), granularity)
        ]

    def point_count(self, granularity: Granularity) -> int:
        """About how many buckets there are; of weeks and months, the number of days."""
        return (self.end_ms - self.start_ms) // WIDTH_MS.get(granularity, DAY_MS)

    def bucket_labels(self, granularity: Granularity) -> Callable[[int], str]:
        """Gives the label of a bucket of the time range by its number, however many there are."""
        return partial(
            buckets.bucket_label, periods=utc_offset_periods(self), granularity=granularity
        )

    def bucket_number(self, ms: int, granularity: Granularity) -> int:
        """The number of the bucket of an instant of the time range."""
        return buckets.bucket_number(ms, utc_offset_periods(self), granularity)

    def current_bucket_label(self, now_ms: int, granularity: Granularity) -> str | None:
        """The label of the bucket that contains `now`; its numbers can still grow."""
        if not self.start_ms <= now_ms < self.end_ms:
            return None
        return self.bucket_labels(granularity)(self.bucket_number(now_ms, granularity))

    @property
    def days(self) -> tuple[date, date] | None:
        """The first day and the day after the last, if the range consists of whole days."""
        start, end = (time_zones.to_local(ms, self.zone) for ms in (self.start_ms, self.end_ms))
        start_day, end_day = start.date(), end.date()
        time_range = TimeRange(
            _midnight(start_day, self.zone), _midnight(end_day, self.zone), self.zone
        )
        return (start_day, end_day) if time_range == self else None


def time_range(start: date, end: date, zone: str, max_days: int) -> TimeRange:
    """The days from `start` to `end` in the zone; Malformed for none or too many."""
    if end < start:
        raise Malformed(f"'endDate' is {end}, which is before 'startDate' {start}")
    if start <= FIRST_DAY or end >= LAST_DAY:
        raise Malformed(f"'startDate' and 'endDate' must be between {FIRST_DAY} and {LAST_DAY}")
    check_days((end - start).days + 1, max_days)
    return TimeRange(_midnight(start, zone), _midnight(end + timedelta(days=1), zone), zone)


def first_whole_day(start_ms: int, zone: str) -> date:
    """The first day in the zone that begins at the instant or after it."""
    day = time_zones.to_local(start_ms, zone).date()
    return day if _midnight(day, zone) >= start_ms else day + timedelta(days=1)


def check_days(days: int, max_days: int) -> None:
    """Malformed when there are too many days."""
    if days > max_days:
        raise Malformed(
            f"'startDate' to 'endDate' is {days:,} days; at most {max_days:,} are allowed"
        )


def utc_offset_periods(time_range: TimeRange) -> Sequence[UtcOffsetPeriod]:
    """The range split where the UTC offset of the zone changes; at least one period."""
    return time_zones.split_at_offset_changes(
        time_range.start_ms, time_range.end_ms, time_range.zone
    )


def _midnight(at: date, zone: str) -> int:
    return time_zones.to_unix_ms(datetime.combine(at, time()), zone)
