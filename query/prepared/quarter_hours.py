"""Quarter-hours of a time range, and the bucket that each belongs to."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.rollup_tables import QUARTER_MS
from query.request.buckets import (
    MONDAY_OFFSET_MS,
    MONTHS,
    WEEK_MS,
    WEEK_OFFSETS,
    WIDTH_MS,
    Granularity,
)
from query.request.date_parts import HOUR_MS, DatePart
from query.request.time_range import TimeRange, UtcOffsetPeriod, utc_offset_periods
from query.request.time_zones import DAY_MS


class QuarterHours(Struct, frozen=True, eq=False):
    """The quarter-hours of a time range."""

    first: int
    end: int
    """Numbers since 1970 of the first, and of the one after the last."""
    buckets: Numbers
    """The position of the bucket of each quarter-hour, among those of the range."""
    numbers: Sequence[int]
    """The number of each bucket, as SQL has it."""


def whole_range(time_range: TimeRange) -> QuarterHours | None:
    """The quarter-hours of a range as one bucket; None when the range cuts one."""
    if time_range.start_ms % QUARTER_MS or time_range.end_ms % QUARTER_MS:
        return None
    first, end = time_range.start_ms // QUARTER_MS, time_range.end_ms // QUARTER_MS
    return QuarterHours(first, end, np.zeros(max(0, end - first), np.int64), [0])


def by_bucket(time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:
    """The quarter-hours of a range; None when the range or a bucket cuts one.

    None as well when a bucket returns after another one, as a day does in a zone that sets its
    clocks back over midnight: a session belongs to the least bucket of its page views then.
    """
    whole = with_local_time(time_range)
    if whole is None or granularity is Granularity.MINUTE:
        return None
    periods = utc_offset_periods(time_range)
    ms, at, local = _local_ms(whole, periods)
    if granularity in WIDTH_MS:
        changes = np.array([0, *(period.start_ms for period in periods[1:])])
        numbers = np.maximum(ms - local % WIDTH_MS[granularity], changes[at])
    else:
        numbers = _first_day(local, granularity)
    steps = np.diff(numbers)
    if len(numbers) == 0 or (steps < 0).any():
        return None
    buckets = np.concatenate([[0], np.cumsum(steps > 0)])
    starts = np.concatenate([[0], np.flatnonzero(steps) + 1])
    return QuarterHours(whole.first, whole.end, buckets, numbers[starts].tolist())


def with_local_time(time_range: TimeRange) -> QuarterHours | None:
    """The quarters as one bucket; None when a change of the UTC offset cuts one as well."""
    whole, periods = whole_range(time_range), utc_offset_periods(time_range)
    edges = (edge for period in periods for edge in (period.start_ms, period.offset_ms))
    return None if any(edge % QUARTER_MS for edge in edges) else whole


def date_parts(quarters: QuarterHours, time_range: TimeRange, part: DatePart) -> Numbers:
    """The date part of each quarter, none of which is cut by a change of the UTC offset."""
    _, _, local = _local_ms(quarters, utc_offset_periods(time_range))
    if part is DatePart.HOUR_OF_DAY:
        return local % DAY_MS // HOUR_MS
    return (local + MONDAY_OFFSET_MS) % WEEK_MS // DAY_MS + 1


def _local_ms(
    quarters: QuarterHours, periods: Sequence[UtcOffsetPeriod]
) -> tuple[Numbers, Numbers, Numbers]:
    """The start of each quarter, its period, and its start in local time."""
    ms = np.arange(quarters.first, quarters.end, dtype=np.int64) * QUARTER_MS
    at = np.searchsorted([period.start_ms for period in periods], ms, side="right") - 1
    return ms, at, ms + np.array([period.offset_ms for period in periods])[at]


def _first_day(local: Numbers, granularity: Granularity) -> Numbers:
    days: Numbers = local - local % DAY_MS
    if (offset := WEEK_OFFSETS.get(granularity)) is not None:
        days = local - (local + offset) % WEEK_MS
    if (length := MONTHS.get(granularity)) is not None:
        months = local.astype("datetime64[ms]").astype("datetime64[M]").astype(np.int64)
        firsts = (months - months % length).astype("datetime64[M]")
        days = firsts.astype("datetime64[ms]").astype(np.int64)
    return days


class UnfilteredPlan(Struct, frozen=True):
    visit_tables: ClassVar[Sequence[str]] = ()
    filter_fields: ClassVar[Mapping[str, int]] = {}
    text_count: ClassVar[int] = 0


class RangePlan(UnfilteredPlan, frozen=True):
    """A form whose rows are of the whole time range."""

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:  # noqa: ARG002
        return whole_range(time_range)


class BucketPlan(UnfilteredPlan, frozen=True):
    """A form whose rows are of buckets."""

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:
        return by_bucket(time_range, granularity)


class NewVisitorPlan(BucketPlan, frozen=True):
    """A form of buckets that needs the visitors who had an event before the rows that it reads."""
