"""Local time and UTC; periods of constant UTC offset."""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from itertools import pairwise
from zoneinfo import ZoneInfo

from msgspec import Struct

from schemas.errors import Malformed
from schemas.runtime.time_zone_names import time_zones

DAY_MS = 86_400_000


class UtcOffsetPeriod(Struct, frozen=True):
    """A period in which the UTC offset of the zone is constant."""

    start_ms: int
    end_ms: int
    offset_ms: int


def check_time_zone(field: str, name: str) -> str:
    """The name, when the IANA database has it."""
    if name not in time_zones():
        same = (each for each in sorted(time_zones()) if each.casefold() == name.casefold())
        example = next(same, "Europe/Berlin")
        raise Malformed(f"'{field}' is '{name[:60]}'; use an IANA time zone such as {example}")
    return name


@lru_cache(maxsize=256)
def split_at_offset_changes(start_ms: int, end_ms: int, zone: str) -> tuple[UtcOffsetPeriod, ...]:
    """The range split where the UTC offset of the zone changes; at least one period."""
    zone_info = ZoneInfo(zone)
    cuts = [start_ms, *_changes(zone_info, start_ms, end_ms), end_ms]
    return tuple(UtcOffsetPeriod(a, b, _offset(zone_info, a)) for a, b in pairwise(cuts))


def to_unix_ms(local: datetime, zone: str, *, last: bool = False) -> int:
    """Unix milliseconds of a local time.

    A time that occurs twice is the first occurrence, or the `last`; a skipped time is the instant
    of the skip.
    """
    zone_info = ZoneInfo(zone)
    early, late = sorted(_ms(local.replace(tzinfo=zone_info, fold=fold)) for fold in (0, 1))
    if _local(early, zone_info) == _local(late, zone_info) == local:
        return late if last else early
    changed = partial(_differs, zone_info, _offset(zone_info, early))
    return early + bisect_left(range(early, late), True, key=changed)


def to_local(ms: int, zone: str) -> datetime:
    """Local time at that instant, as a naive datetime."""
    return _local(ms, ZoneInfo(zone))


def _local(ms: int, zone: ZoneInfo) -> datetime:
    seconds = datetime.fromtimestamp(ms // 1000, zone).replace(tzinfo=None, fold=0)
    return seconds + timedelta(milliseconds=ms % 1000)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _changes(zone: ZoneInfo, start_ms: int, end_ms: int) -> Iterator[int]:
    """The instants at which the UTC offset changes; no zone has two in a day."""
    for before in range(start_ms, end_ms, DAY_MS):
        after = min(before + DAY_MS, end_ms - 1)
        offset = _offset(zone, before)
        if _offset(zone, after) != offset:
            candidates = range(before, after)
            yield before + bisect_left(candidates, True, key=partial(_differs, zone, offset))


def _differs(zone: ZoneInfo, offset: int, ms: int) -> bool:
    return _offset(zone, ms) != offset


def _offset(zone: ZoneInfo, ms: int) -> int:
    zone_info = datetime.fromtimestamp(ms / 1000, UTC).astimezone(zone)
    return (zone_info.utcoffset() or timedelta()) // timedelta(milliseconds=1)
