"""Zones: a stretch of time cut where its zone's clock was changed, and instants of local times."""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from msgspec import Struct

from schemas.errors import Malformed

DAY_MS = 86_400_000


class UtcOffsetPeriod(Struct, frozen=True):
    """A stretch of time in which the zone's offset from UTC stays the same."""

    start_ms: int
    end_ms: int
    offset_ms: int


def check_time_zone(field: str, name: str) -> str:
    """The name, when the IANA database has it."""
    if name not in _zone_names():
        raise Malformed(f"'{field}' is '{name[:60]}'; give an IANA name such as Europe/Berlin")
    return name


@lru_cache(maxsize=256)
def split_at_offset_changes(start_ms: int, end_ms: int, zone: str) -> tuple[UtcOffsetPeriod, ...]:
    """The stretch, cut where the zone's clock was changed; at least one piece."""
    there = ZoneInfo(zone)
    cuts = [start_ms, *_changes(there, start_ms, end_ms), end_ms]
    return tuple(UtcOffsetPeriod(a, b, _offset(there, a)) for a, b in pairwise(cuts))


def to_unix_ms(local: datetime, zone: str, *, last: bool = False) -> int:
    """The Unix milliseconds at which the zone's clocks show `to_local`.

    A time that occurs twice is the first of both, or the `last`; one that clocks skipped is the
    moment at which they skipped it.
    """
    there = ZoneInfo(zone)
    early, late = sorted(_ms(local.replace(tzinfo=there, fold=fold)) for fold in (0, 1))
    if _local(early, there) == _local(late, there) == local:
        return late if last else early
    changed = partial(_differs, there, _offset(there, early))
    return early + bisect_left(range(early, late), True, key=changed)


def to_local(ms: int, zone: str) -> datetime:
    """What the zone's clocks show at that instant, without a zone."""
    return _local(ms, ZoneInfo(zone))


def _local(ms: int, zone: ZoneInfo) -> datetime:
    whole = datetime.fromtimestamp(ms // 1000, zone).replace(tzinfo=None, fold=0)
    return whole + timedelta(milliseconds=ms % 1000)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _changes(zone: ZoneInfo, start_ms: int, end_ms: int) -> Iterator[int]:
    """The instants at which the offset becomes another; no zone has two in a day."""
    for before in range(start_ms, end_ms, DAY_MS):
        after = min(before + DAY_MS, end_ms - 1)
        offset = _offset(zone, before)
        if _offset(zone, after) != offset:
            stretch = range(before, after)
            yield before + bisect_left(stretch, True, key=partial(_differs, zone, offset))


def _differs(zone: ZoneInfo, offset: int, ms: int) -> bool:
    return _offset(zone, ms) != offset


def _offset(zone: ZoneInfo, ms: int) -> int:
    there = datetime.fromtimestamp(ms / 1000, UTC).astimezone(zone)
    return (there.utcoffset() or timedelta()) // timedelta(milliseconds=1)


@lru_cache(maxsize=1)
def _zone_names() -> frozenset[str]:
    return frozenset(available_timezones())
