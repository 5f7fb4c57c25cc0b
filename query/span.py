"""Span: dates and a time zone become UTC bounds, and each point of a series its number and label.

Dates are days of the zone, both ends inclusive. In SQL a bucket is a number made by integer
arithmetic on Unix milliseconds and the zone's offsets, so that no engine's calendar is asked:
- a day is its local midnight, as if that clock were UTC; a day of 23 or 25 hours is one bucket;
- an hour is its start in UTC; where the clock is set back, the hour that occurs twice is two
  buckets with the same label, in the order of time.
"""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache, partial
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from msgspec import Struct

from query.engine import Sql
from schemas.failures import Malformed

HOUR_MS = 3_600_000
DAY_MS = 86_400_000
FIRST_DAY = date(1970, 1, 1)
LAST_DAY = date(9000, 1, 1)


class Granularity(StrEnum):
    """How wide a bucket is."""

    HOURLY = "hourly"
    DAILY = "daily"


class Point(Struct, frozen=True):
    """One bucket of a series: its number in SQL, and its label in the answer."""

    bucket: int
    label: str


class Piece(Struct, frozen=True):
    """A stretch of time in which the zone's offset from UTC stays the same."""

    start_ms: int
    end_ms: int
    offset_ms: int


class Span(Struct, frozen=True):
    """start <= instant < end, and the zone in which its days are days."""

    start_ms: int
    end_ms: int
    zone: str

    def bucket(self, ms: str, granularity: Granularity) -> Sql:
        """The expression that numbers the bucket of an instant given as Unix milliseconds."""
        offset = _offset_expression(ms, pieces(self))
        local = f"({ms} + {offset.text})"
        if granularity is Granularity.DAILY:
            return Sql(f"{local} - {local} % {DAY_MS}", offset.values)
        return Sql(f"{ms} - {local} % {HOUR_MS}", offset.values)

    def points(self, granularity: Granularity) -> list[Point]:
        """Every bucket of the span, in the order of time."""
        if granularity is Granularity.DAILY:
            return [Point(day, _label(day)[:10]) for day in _days(pieces(self))]
        return [Point(hour, _label(hour + offset)) for hour, offset in _hours(pieces(self))]


def span(start: date, end: date, zone: str, most_days: int) -> Span:
    """The days from `start` to `end` in the zone; Malformed when there are none or too many."""
    if end < start:
        raise Malformed(f"'endDate' is {end}, which is before 'startDate' {start}")
    if start <= FIRST_DAY or end >= LAST_DAY:
        raise Malformed(
            f"'startDate' and 'endDate' must be after {FIRST_DAY} and before the future"
        )
    if (end - start).days + 1 > most_days:
        raise Malformed(
            f"'startDate' to 'endDate' is {(end - start).days + 1:,} days; "
            f"at most {most_days:,} are allowed"
        )
    return Span(_midnight(start, zone), _midnight(end + timedelta(days=1), zone), zone)


def day(field: str, text: str) -> date:
    """The date of a `YYYY-MM-DD`."""
    try:
        if len(text) == 10:
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise Malformed(f"'{field}' is '{text[:40]}'; give a date as YYYY-MM-DD")


def checked_zone(field: str, name: str) -> str:
    """The name, when the IANA database has it."""
    if name not in _zones():
        raise Malformed(f"'{field}' is '{name[:60]}'; give an IANA name such as Europe/Berlin")
    return name


@lru_cache(maxsize=256)
def pieces(whole: Span) -> tuple[Piece, ...]:
    """The span, cut where the zone's clock was changed; at least one piece."""
    zone = ZoneInfo(whole.zone)
    cuts = [whole.start_ms, *_changes(zone, whole), whole.end_ms]
    return tuple(Piece(a, b, _offset(zone, a)) for a, b in pairwise(cuts))


def _changes(zone: ZoneInfo, whole: Span) -> Iterator[int]:
    """The instants at which the offset becomes another; no zone has two in a day."""
    for before in range(whole.start_ms, whole.end_ms, DAY_MS):
        after = min(before + DAY_MS, whole.end_ms - 1)
        offset = _offset(zone, before)
        if _offset(zone, after) != offset:
            stretch = range(before, after)
            changed = partial(_differs, zone, offset)
            yield before + bisect_left(stretch, True, key=changed)


def _differs(zone: ZoneInfo, offset: int, ms: int) -> bool:
    return _offset(zone, ms) != offset


def _offset(zone: ZoneInfo, ms: int) -> int:
    there = datetime.fromtimestamp(ms / 1000, zone)
    return (there.utcoffset() or timedelta()) // timedelta(milliseconds=1)


def _offset_expression(ms: str, parts: tuple[Piece, ...]) -> Sql:
    """The offset at an instant: one number, or a choice between a few."""
    *changing, last = parts
    values: dict[str, object] = {f"offset_{len(changing)}": last.offset_ms}
    text = f"$offset_{len(changing)}"
    if changing:
        choices = ""
        for i, piece in enumerate(changing):
            values |= {f"offset_{i}": piece.offset_ms, f"until_{i}": piece.end_ms}
            choices += f" WHEN {ms} < $until_{i} THEN $offset_{i}"
        text = f"CASE{choices} ELSE {text} END"
    return Sql(text, values)


def _days(parts: tuple[Piece, ...]) -> list[int]:
    found: set[int] = set()
    for piece in parts:
        first = (piece.start_ms + piece.offset_ms) // DAY_MS
        beyond = -(-(piece.end_ms + piece.offset_ms) // DAY_MS)
        found.update(range(first, beyond) if piece.end_ms > piece.start_ms else ())
    return [number * DAY_MS for number in sorted(found)]


def _hours(parts: tuple[Piece, ...]) -> Iterator[tuple[int, int]]:
    for piece in parts:
        first = (piece.start_ms + piece.offset_ms) // HOUR_MS
        beyond = -(-(piece.end_ms + piece.offset_ms) // HOUR_MS)
        for number in range(first, beyond if piece.end_ms > piece.start_ms else first):
            yield number * HOUR_MS - piece.offset_ms, piece.offset_ms


def _midnight(at: date, zone: str) -> int:
    start = datetime(at.year, at.month, at.day, tzinfo=ZoneInfo(zone))
    return round(start.timestamp()) * 1000


def _label(local_ms: int) -> str:
    return datetime.fromtimestamp(local_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())
