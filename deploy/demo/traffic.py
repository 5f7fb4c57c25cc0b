"""Visits of made-up people in a span of time: the same for the same seed, span and number."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar
from zoneinfo import ZoneInfo

from msgspec import Struct

from deploy.demo.page_visits import Walk
from deploy.demo.visitor_profiles import DEVICES, ORIGINS, PER_HOUR, PLACES, Device, Place

WEEKEND = 0.55
"""How lively a Saturday or Sunday is, beside a working day."""

Item = dict[str, Any]


class Visit(Struct, frozen=True):
    """One session of one visitor: what their browser sends."""

    start_ms: int
    user_agent: str
    country: str
    language: str
    referrer: str | None
    events: tuple[Item, ...]
    vitals: tuple[Item, ...]
    errors: tuple[Item, ...]
    by_link: bool
    """Came over the short link."""

    @property
    def items(self) -> int:
        return len(self.events) + len(self.vitals) + len(self.errors)


class Weighted(Protocol):
    """Anything that is picked more or less often."""

    @property
    def weight(self) -> int: ...


W = TypeVar("W", bound=Weighted)


def visits(seed: int, visitors: int, start_ms: int, end_ms: int) -> list[Visit]:
    """Every visit that begins and ends within [start, end), oldest first."""
    chance = random.Random(seed)  # noqa: S311 - made-up people need no secrecy
    made = [visit for _ in range(visitors) for visit in _visits_of_one(chance, start_ms, end_ms)]
    return sorted(made, key=lambda visit: visit.start_ms)


def _visits_of_one(chance: random.Random, start_ms: int, end_ms: int) -> Iterator[Visit]:
    device, place = pick(chance, DEVICES), pick(chance, PLACES)
    visitor = f"anon_{chance.getrandbits(64):016x}"
    for _ in range(chance.choices((1, 2, 3, 5), (66, 20, 10, 4))[0]):
        begin = _moment(chance, place, start_ms, end_ms)
        visit = _visit(chance, device, place, visitor, begin)
        if all(item["timestamp"] < end_ms for item in visit.events):
            yield visit


def _visit(chance: random.Random, device: Device, place: Place, visitor: str, begin: int) -> Visit:
    origin = pick(chance, ORIGINS)
    walk = Walk(chance, device, place, origin, visitor, begin)
    walk.wander()
    return Visit(
        start_ms=begin,
        user_agent=device.user_agent,
        country=place.country,
        language=place.language,
        referrer=origin.referrer,
        events=tuple(walk.events),
        vitals=tuple(walk.vitals),
        errors=tuple(walk.errors),
        by_link=chance.random() < 0.08,
    )


def _moment(chance: random.Random, place: Place, start_ms: int, end_ms: int) -> int:
    """An instant of the span, more likely where the local day is lively."""
    zone = ZoneInfo(place.timezone)
    while True:
        instant = chance.randrange(start_ms, end_ms)
        local = datetime.fromtimestamp(instant / 1000, UTC).astimezone(zone)
        liveliness = PER_HOUR[local.hour] / max(PER_HOUR)
        if local.weekday() >= 5:
            liveliness *= WEEKEND
        if chance.random() < liveliness:
            return instant


def pick(chance: random.Random, values: Sequence[W]) -> W:
    """One of the values, by weight."""
    return chance.choices(values, [value.weight for value in values])[0]


def last_week(now_ms: int) -> tuple[int, int]:
    """The span of the demo: seven days that the collector will not clamp, up to now."""
    week = timedelta(days=7).total_seconds() * 1000
    return now_ms - int(week) + 600_000, now_ms
