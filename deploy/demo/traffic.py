"""Generates visits for a time range, deterministic by seed."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar
from zoneinfo import ZoneInfo

from msgspec import Struct

from deploy.demo.page_visits import PageVisits
from deploy.demo.visitor_profiles import (
    DEMO_DEVICES,
    HOURLY_ACTIVITY,
    LOCATIONS,
    TRAFFIC_SOURCES,
    DemoDevice,
    DemoLocation,
)

WEEKEND_FACTOR = 0.55
"""Traffic of a Saturday or Sunday relative to a working day."""

ItemJson = dict[str, Any]


class DemoVisit(Struct, frozen=True):
    """One session of one visitor, with the items that the browser sends."""

    start_ms: int
    user_agent: str
    country: str
    language: str
    referrer: str | None
    events: tuple[ItemJson, ...]
    vitals: tuple[ItemJson, ...]
    errors: tuple[ItemJson, ...]
    by_link: bool
    """Whether the session starts with a click on the short link."""

    @property
    def items(self) -> int:
        return len(self.events) + len(self.vitals) + len(self.errors)


class Weighted(Protocol):
    """A choice with a weight."""

    @property
    def weight(self) -> int: ...


WeightedT = TypeVar("WeightedT", bound=Weighted)


def generate_visits(seed: int, visitors: int, start_ms: int, end_ms: int) -> list[DemoVisit]:
    """All visits that start and end within [start, end), oldest first."""
    chance = random.Random(seed)  # noqa: S311 - generated traffic needs no secure randomness
    visits = [
        visit for _ in range(visitors) for visit in _visits_of_visitor(chance, start_ms, end_ms)
    ]
    return sorted(visits, key=lambda visit: visit.start_ms)


def _visits_of_visitor(chance: random.Random, start_ms: int, end_ms: int) -> Iterator[DemoVisit]:
    device, place = weighted_choice(chance, DEMO_DEVICES), weighted_choice(chance, LOCATIONS)
    visitor = f"anon_{chance.getrandbits(64):016x}"
    for _ in range(chance.choices((1, 2, 3, 5), (66, 20, 10, 4))[0]):
        begin = _random_instant(chance, place, start_ms, end_ms)
        visit = _visit(chance, device, place, visitor, begin)
        if all(item["timestamp"] < end_ms for item in visit.events):
            yield visit


def _visit(
    chance: random.Random, device: DemoDevice, place: DemoLocation, visitor: str, begin: int
) -> DemoVisit:
    origin = weighted_choice(chance, TRAFFIC_SOURCES)
    walk = PageVisits(chance, device, place, origin, visitor, begin)
    walk.generate()
    return DemoVisit(
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


def _random_instant(chance: random.Random, place: DemoLocation, start_ms: int, end_ms: int) -> int:
    """An instant of the span, more likely where the local day is lively."""
    zone = ZoneInfo(place.timezone)
    while True:
        instant = chance.randrange(start_ms, end_ms)
        local = datetime.fromtimestamp(instant / 1000, UTC).astimezone(zone)
        liveliness = HOURLY_ACTIVITY[local.hour] / max(HOURLY_ACTIVITY)
        if local.weekday() >= 5:
            liveliness *= WEEKEND_FACTOR
        if chance.random() < liveliness:
            return instant


def weighted_choice(chance: random.Random, values: Sequence[WeightedT]) -> WeightedT:
    """One of the values, by weight."""
    return chance.choices(values, [value.weight for value in values])[0]


def last_week(now_ms: int) -> tuple[int, int]:
    """The span of the demo: seven days that the collector will not clamp, up to now."""
    week = timedelta(days=7).total_seconds() * 1000
    return now_ms - int(week) + 600_000, now_ms
