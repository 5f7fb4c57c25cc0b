"""Buckets: the points of a series, numbered in SQL by integer arithmetic on Unix milliseconds.

No engine's calendar is asked; the zone's offsets and the borders of its months are bound values.
- a day is its local midnight, as if that clock were UTC; a day of 23 or 25 hours is one bucket;
- a week (ISO: from Monday) and a month are the number of their first day;
- an hour or a minute is its start in UTC; where the clock is set back, what occurs twice is two
  buckets with the same label, in the order of time. An hour that begins in the middle, because the
  clock was changed then, is that instant: its start might be that of an hour before the change.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from query.engine.engine import Sql
from query.request.time_zones import DAY_MS, UtcOffsetPeriod

WEEK_MS = 7 * DAY_MS
MONDAY_OFFSET_MS = 3 * DAY_MS
"""From the Monday before 1970 to 1970."""

UtcOffsetPeriods = Sequence[UtcOffsetPeriod]


class Granularity(StrEnum):
    """How wide a bucket is."""

    MINUTE = "minute"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


GRANULARITIES = {
    name: granularity
    for granularity, short in zip(
        Granularity, ("minute", "hour", "day", "week", "month"), strict=True
    )
    for name in (granularity.value, short)
}
"""By every name that requests may use."""

WIDTH_MS = {Granularity.MINUTE: 60_000, Granularity.HOURLY: 3_600_000}
"""Granularities that are a length of time; the others are days of a calendar."""


BEFORE_ALL_MS = 0
"""Before every instant that can be asked."""


def bucket_sql(ms: str, parts: UtcOffsetPeriods, granularity: Granularity) -> Sql:
    """The number of the bucket of an instant given as Unix milliseconds."""
    if granularity is Granularity.MONTHLY:
        return _month_expression(ms, list(_months(parts)))
    offset = _offset_expression(ms, parts)
    local = f"({ms} + {offset.text})"
    if granularity is Granularity.DAILY:
        return Sql(f"{local} - {local} % {DAY_MS}", offset.values)
    if granularity is Granularity.WEEKLY:
        return Sql(f"{local} - ({local} + {MONDAY_OFFSET_MS}) % {WEEK_MS}", offset.values)
    start = f"{ms} - {local} % {WIDTH_MS[granularity]}"
    if len(parts) == 1:
        return Sql(start, offset.values)
    change = _case_by_period(
        ms, parts, "change", [BEFORE_ALL_MS, *(piece.start_ms for piece in parts[1:])]
    )
    return Sql(f"GREATEST({start}, {change.text})", {**offset.values, **change.values})


def bucket_number(ms: int, parts: UtcOffsetPeriods, granularity: Granularity) -> int:
    """The same for an instant that is known."""
    at, piece = next((i, piece) for i, piece in enumerate(parts) if ms < piece.end_ms)
    local = ms + piece.offset_ms
    if granularity in WIDTH_MS:
        return max(ms - local % WIDTH_MS[granularity], piece.start_ms if at else BEFORE_ALL_MS)
    return FIRST_OF[granularity](local)


def list_buckets(parts: UtcOffsetPeriods, granularity: Granularity) -> Iterator[tuple[int, str]]:
    """Every bucket in the order of time: its number and its label."""
    width = WIDTH_MS.get(granularity)
    if width is not None:
        yield from _fixed_width_buckets(parts, width)
        return
    firsts = {FIRST_OF[granularity](day) for day in _days(parts)}
    yield from ((first, _label(first)[:10]) for first in sorted(firsts))


def _offset_expression(ms: str, parts: UtcOffsetPeriods) -> Sql:
    """The offset at an instant."""
    return _case_by_period(ms, parts, "offset", [piece.offset_ms for piece in parts])


def _case_by_period(ms: str, parts: UtcOffsetPeriods, name: str, of: Sequence[int]) -> Sql:
    """One number for each piece: that of the piece which an instant is in."""
    values: dict[str, object] = {f"{name}_{i}": value for i, value in enumerate(of)}
    last = len(parts) - 1
    if not last:
        return Sql(f"${name}_0", values)
    values |= {f"until_{i}": piece.end_ms for i, piece in enumerate(parts[:last])}
    choices = "".join(f" WHEN {ms} < $until_{i} THEN ${name}_{i}" for i in range(last))
    return Sql(f"CASE{choices} ELSE ${name}_{last} END", values)


def _month_expression(ms: str, stretches: Sequence[tuple[int, int]]) -> Sql:
    """A choice between months, by halves: a decade costs no more than a few comparisons."""
    values: dict[str, object] = {}

    def half(low: int, beyond: int) -> str:
        if beyond - low <= 1:
            values[f"month_{low}"] = stretches[low][1] if stretches else None
            return f"CAST($month_{low} AS BIGINT)"
        middle = (low + beyond) // 2
        values[f"until_{middle}"] = stretches[middle - 1][0]
        before, after = half(low, middle), half(middle, beyond)
        return f"CASE WHEN {ms} < $until_{middle} THEN {before} ELSE {after} END"

    return Sql(half(0, len(stretches)), values)


def _months(parts: UtcOffsetPeriods) -> Iterator[tuple[int, int]]:
    """Stretches of time in one month of the zone: where each ends, and the month's first day."""
    for piece in parts:
        at = piece.start_ms
        while at < piece.end_ms:
            month = _month(at + piece.offset_ms)
            at = min(_month(month + 31 * DAY_MS) - piece.offset_ms, piece.end_ms)
            yield at, month


def _days(parts: UtcOffsetPeriods) -> set[int]:
    found: set[int] = set()
    for piece in parts:
        first = (piece.start_ms + piece.offset_ms) // DAY_MS
        beyond = -(-(piece.end_ms + piece.offset_ms) // DAY_MS)
        found.update(range(first, beyond) if piece.end_ms > piece.start_ms else ())
    return {day * DAY_MS for day in found}


def _fixed_width_buckets(parts: UtcOffsetPeriods, width: int) -> Iterator[tuple[int, str]]:
    """Each hour or minute: its number and its label."""
    for i, piece in enumerate(parts):
        first = (piece.start_ms + piece.offset_ms) // width
        beyond = -(-(piece.end_ms + piece.offset_ms) // width)
        for step in range(first, beyond if piece.end_ms > piece.start_ms else first):
            start = step * width - piece.offset_ms
            yield max(start, piece.start_ms if i else BEFORE_ALL_MS), _label(step * width)


def _day(local_ms: int) -> int:
    return local_ms - local_ms % DAY_MS


def _monday(local_ms: int) -> int:
    return local_ms - (local_ms + MONDAY_OFFSET_MS) % WEEK_MS


def _month(local_ms: int) -> int:
    day = datetime.fromtimestamp(local_ms // 1000, UTC)
    return round(datetime(day.year, day.month, 1, tzinfo=UTC).timestamp()) * 1000


FIRST_OF: Mapping[Granularity, Callable[[int], int]] = {
    Granularity.DAILY: _day,
    Granularity.WEEKLY: _monday,
    Granularity.MONTHLY: _month,
}


def _label(local_ms: int) -> str:
    return datetime.fromtimestamp(local_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
