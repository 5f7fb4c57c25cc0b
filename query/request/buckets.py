"""Buckets of a time series, numbered in SQL by integer arithmetic.

No calendar function of the engine is used; UTC offsets and month boundaries are bound values.
- the number of a day is its local midnight read as UTC; a day of 23 or 25 hours is one bucket;
- a week (ISO: from Monday, or from Sunday), a month, a quarter and a year have the number of their
  first day;
- an hour, a quarter of it or a minute has its start in UTC; a local hour that occurs twice is two
  buckets with the same label, in order of time. An hour that begins with a change of the offset has
  the instant of the change, since its rounded start might equal that of the hour before.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial

from query.request.time_zones import DAY_MS, UtcOffsetPeriod
from query.sql.fragment import Fragment

WEEK_MS = 7 * DAY_MS
MONDAY_OFFSET_MS, SUNDAY_OFFSET_MS = 3 * DAY_MS, 4 * DAY_MS
"""From the last Monday and the last Sunday of 1969 to 1970-01-01."""
MONTHS_OF_QUARTER = 3

UtcOffsetPeriods = Sequence[UtcOffsetPeriod]


class Granularity(StrEnum):
    """How wide a bucket is."""

    MINUTE = "minute"
    QUARTER_HOUR = "quarter_hour"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    SUNDAY_WEEK = "sunday_week"
    """A week that begins on Sunday."""
    MONTHLY = "monthly"
    QUARTERLY = "quarterly"
    YEARLY = "yearly"


SHORT_NAMES = {
    "minute": Granularity.MINUTE,
    "quarter_hour": Granularity.QUARTER_HOUR,
    "hour": Granularity.HOURLY,
    "day": Granularity.DAILY,
    "week": Granularity.WEEKLY,
    "sunday_week": Granularity.SUNDAY_WEEK,
    "month": Granularity.MONTHLY,
    "quarter": Granularity.QUARTERLY,
    "year": Granularity.YEARLY,
}
"""Granularities as dimensions name them."""
GRANULARITIES = {
    name: granularity
    for short, granularity in SHORT_NAMES.items()
    for name in (granularity.value, short)
}
"""Granularities by every name that requests may use."""

WIDTH_MS = {
    Granularity.MINUTE: 60_000,
    Granularity.QUARTER_HOUR: 900_000,
    Granularity.HOURLY: 3_600_000,
}
"""Granularities of a fixed width; the others are calendar days."""


BEFORE_ALL_MS = 0
"""Before every instant that a request may name."""


def bucket_sql(ms: str, periods: UtcOffsetPeriods, granularity: Granularity) -> Fragment:
    """SQL for the bucket number of an instant in Unix milliseconds."""
    if granularity in LONGEST_DAYS:
        return _first_day_expression(ms, list(_long_buckets(periods, granularity)))
    local_ms = local_ms_sql(ms, periods)
    local, values = local_ms.text, local_ms.values
    if granularity is Granularity.DAILY:
        return Fragment(f"{local} - {local} % {DAY_MS}", values)
    if (offset := WEEK_OFFSETS.get(granularity)) is not None:
        return Fragment(f"{local} - ({local} + {offset}) % {WEEK_MS}", values)
    start = f"{ms} - {local} % {WIDTH_MS[granularity]}"
    if len(periods) == 1:
        return Fragment(start, values)
    change = _case_by_period(
        ms, periods, "change", [BEFORE_ALL_MS, *(period.start_ms for period in periods[1:])]
    )
    return Fragment(f"GREATEST({start}, {change.text})", {**values, **change.values})


def local_ms_sql(ms: str, periods: UtcOffsetPeriods) -> Fragment:
    """SQL for the local time at an instant, as the milliseconds of a clock that shows it in UTC."""
    offset = _offset_expression(ms, periods)
    return Fragment(f"({ms} + {offset.text})", offset.values)


def bucket_number(ms: int, periods: UtcOffsetPeriods, granularity: Granularity) -> int:
    """The bucket number of a known instant."""
    at, period = next((i, period) for i, period in enumerate(periods) if ms < period.end_ms)
    local = ms + period.offset_ms
    if granularity in WIDTH_MS:
        return max(ms - local % WIDTH_MS[granularity], period.start_ms if at else BEFORE_ALL_MS)
    return FIRST_OF[granularity](local)


def bucket_label(number: int, periods: UtcOffsetPeriods, granularity: Granularity) -> str:
    """The label of the bucket of that number."""
    width = WIDTH_MS.get(granularity)
    if width is None:
        return _label(number)[:10]
    local = number + next(p.offset_ms for p in periods if number < p.end_ms)
    return _label(local - local % width)


def list_buckets(periods: UtcOffsetPeriods, granularity: Granularity) -> Iterator[tuple[int, str]]:
    """Number and label of every bucket, in order of time."""
    width = WIDTH_MS.get(granularity)
    if width is not None:
        yield from _fixed_width_buckets(periods, width)
        return
    firsts = {FIRST_OF[granularity](day) for day in _days(periods)}
    yield from ((first, _label(first)[:10]) for first in sorted(firsts))


def bucket_position(number: int, periods: UtcOffsetPeriods, width: int) -> int:
    """The position from 0 of the hour or minute of that number among all of its time range."""
    before = 0
    for first, end, period in _steps(periods, width):
        if number < period.end_ms:
            return before + (number + period.offset_ms) // width - first
        before += end - first
    raise ValueError(f"bucket {number} lies after the time range")


def bucket_at(position: int, periods: UtcOffsetPeriods, width: int) -> int | None:
    """The number of the hour or minute at that position; None beyond the time range."""
    for i, (first, end, period) in enumerate(_steps(periods, width)):
        if position < end - first:
            start = (first + position) * width - period.offset_ms
            return max(start, period.start_ms if i else BEFORE_ALL_MS)
        position -= end - first
    return None


def _offset_expression(ms: str, periods: UtcOffsetPeriods) -> Fragment:
    """SQL for the UTC offset at an instant."""
    return _case_by_period(ms, periods, "offset", [period.offset_ms for period in periods])


def _case_by_period(
    ms: str, periods: UtcOffsetPeriods, name: str, values_by_period: Sequence[int]
) -> Fragment:
    """SQL that selects the value of the period that contains an instant."""
    values: dict[str, object] = {f"{name}_{i}": value for i, value in enumerate(values_by_period)}
    last = len(periods) - 1
    if not last:
        return Fragment(f"${name}_0", values)
    values |= {f"until_{i}": period.end_ms for i, period in enumerate(periods[:last])}
    choices = "".join(f" WHEN {ms} < $until_{i} THEN ${name}_{i}" for i in range(last))
    return Fragment(f"CASE{choices} ELSE ${name}_{last} END", values)


def _first_day_expression(ms: str, buckets: Sequence[tuple[int, int]]) -> Fragment:
    """Binary search over months or longer as nested CASE: a decade costs a few comparisons."""
    values: dict[str, object] = {}

    def half(low: int, end: int) -> str:
        if end - low <= 1:
            values[f"first_{low}"] = buckets[low][1] if buckets else None
            return f"CAST($first_{low} AS BIGINT)"
        middle = (low + end) // 2
        values[f"until_{middle}"] = buckets[middle - 1][0]
        before, after = half(low, middle), half(middle, end)
        return f"CASE WHEN {ms} < $until_{middle} THEN {before} ELSE {after} END"

    return Fragment(half(0, len(buckets)), values)


def _long_buckets(periods: UtcOffsetPeriods, granularity: Granularity) -> Iterator[tuple[int, int]]:
    """Per period and month (quarter, year) of the zone: where it ends, and its first day."""
    first_of, longest_ms = FIRST_OF[granularity], LONGEST_DAYS[granularity] * DAY_MS
    for period in periods:
        at = period.start_ms
        while at < period.end_ms:
            first = first_of(at + period.offset_ms)
            at = min(first_of(first + longest_ms) - period.offset_ms, period.end_ms)
            yield at, first


def _days(periods: UtcOffsetPeriods) -> set[int]:
    day_numbers: set[int] = set()
    for period in periods:
        first = (period.start_ms + period.offset_ms) // DAY_MS
        end = -(-(period.end_ms + period.offset_ms) // DAY_MS)
        day_numbers.update(range(first, end) if period.end_ms > period.start_ms else ())
    return {day * DAY_MS for day in day_numbers}


def _fixed_width_buckets(periods: UtcOffsetPeriods, width: int) -> Iterator[tuple[int, str]]:
    """Number and label of each hour or minute."""
    for i, (first, end, period) in enumerate(_steps(periods, width)):
        for step in range(first, end):
            start = step * width - period.offset_ms
            yield max(start, period.start_ms if i else BEFORE_ALL_MS), _label(step * width)


def _steps(periods: UtcOffsetPeriods, width: int) -> Iterator[tuple[int, int, UtcOffsetPeriod]]:
    """The first hour or minute of each period, and the one after its last, by local time."""
    for period in periods:
        first = (period.start_ms + period.offset_ms) // width
        end = -(-(period.end_ms + period.offset_ms) // width)
        yield first, end if period.end_ms > period.start_ms else first, period


def _day(local_ms: int) -> int:
    return local_ms - local_ms % DAY_MS


def _monday(local_ms: int) -> int:
    return local_ms - (local_ms + MONDAY_OFFSET_MS) % WEEK_MS


def _sunday(local_ms: int) -> int:
    return local_ms - (local_ms + SUNDAY_OFFSET_MS) % WEEK_MS


def _first_of_months(local_ms: int, months: int) -> int:
    """The first day of the month, or of so many months of a year."""
    day = datetime.fromtimestamp(local_ms // 1000, UTC)
    month = (day.month - 1) // months * months + 1
    return round(datetime(day.year, month, 1, tzinfo=UTC).timestamp()) * 1000


WEEK_OFFSETS: Mapping[Granularity, int] = {
    Granularity.WEEKLY: MONDAY_OFFSET_MS,
    Granularity.SUNDAY_WEEK: SUNDAY_OFFSET_MS,
}
MONTHS: Mapping[Granularity, int] = {
    Granularity.MONTHLY: 1,
    Granularity.QUARTERLY: MONTHS_OF_QUARTER,
    Granularity.YEARLY: 12,
}
LONGEST_DAYS: Mapping[Granularity, int] = {
    Granularity.MONTHLY: 31,
    Granularity.QUARTERLY: 92,
    Granularity.YEARLY: 366,
}
FIRST_OF: Mapping[Granularity, Callable[[int], int]] = {
    Granularity.DAILY: _day,
    Granularity.WEEKLY: _monday,
    Granularity.SUNDAY_WEEK: _sunday,
    **{
        granularity: partial(_first_of_months, months=months)
        for granularity, months in MONTHS.items()
    },
}


def _label(local_ms: int) -> str:
    return datetime.fromtimestamp(local_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
