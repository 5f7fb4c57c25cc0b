"""Truth: what an analyst should read, from what was decided about the visits, in plain Python."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from msgspec import Struct

from tests.flow.analyst.shop_traffic import FIRST_DAY, LAST_DAY, Act, Visit
from tests.oracle.aggregates import median, percent, ratio, rounded

K = TypeVar("K", bound=Hashable)


class Seen(Struct, frozen=True):
    """What is seen of a visit in a time range: its events there, at least one a page view."""

    visit: Visit
    events: Sequence[Act]

    @property
    def views(self) -> list[Act]:
        return [act for act in self.events if act.is_view]

    @property
    def ms(self) -> int:
        """From the first event to the last, or the visible time, whichever is greater."""
        visible: int = sum(round(act.item.get("time_on_page", 0) * 1000) for act in self.events)
        lapse: int = self.events[-1].ms - self.events[0].ms
        return max(lapse, visible)

    @property
    def bounced(self) -> bool:
        others = [act for act in self.events if not act.is_view and act.name != "page_exit"]
        return len(self.views) == 1 and not others and self.ms < 10_000


class Truth:
    """The acts of one website from a first to a last day of a time zone."""

    def __init__(
        self,
        acts: Iterable[Act],
        first: date = FIRST_DAY,
        last: date = LAST_DAY,
        zone: str = "UTC",
        website: str | None = "shop",
    ) -> None:
        self.all = [act for act in acts if website in (None, act.visit.website)]
        self.start_ms, self.end_ms = midnight(first, zone), midnight(last + timedelta(days=1), zone)
        self.acts = [act for act in self.all if self.start_ms <= act.ms < self.end_ms]
        self.events = [act for act in self.acts if act.route == "/track"]
        self.views = [act for act in self.events if act.is_view]

    def of(self, route: str) -> list[Act]:
        """The items of one route."""
        return [act for act in self.acts if act.route == route]

    def named(self, name: str) -> list[Act]:
        """The events of one name."""
        return [act for act in self.events if act.name == name]

    @property
    def visits(self) -> list[Seen]:
        groups = grouped(self.events, lambda act: act.visit.session)
        found = [Seen(acts[0].visit, acts) for acts in groups.values()]
        return [seen for seen in found if seen.views]

    @property
    def visitors(self) -> set[str]:
        return {act.visit.visitor for act in self.events}


def midnight(day: date, zone: str) -> int:
    """The first millisecond of a day of a time zone."""
    return round(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).timestamp()) * 1000


def local(ms: int, zone: str = "UTC") -> datetime:
    """What a clock shows."""
    return datetime.fromtimestamp(ms / 1000, ZoneInfo(zone))


def grouped(things: Iterable[Any], key: Callable[[Any], K]) -> dict[K, list[Any]]:
    """Things by key, in their order."""
    found: dict[K, list[Any]] = {}
    for thing in things:
        found.setdefault(key(thing), []).append(thing)
    return found


def people(acts: Iterable[Act]) -> int:
    """How many visitors."""
    return len({act.visit.visitor for act in acts})


def quality(visits: Sequence[Seen]) -> dict[str, Any]:
    """The metrics of visits."""
    count = len(visits)
    return {
        "visits": count,
        "bounce_rate": percent(sum(seen.bounced for seen in visits), count) if count else None,
        "visit_duration": mean([seen.ms for seen in visits]),
        "median_visit_duration": rounded(median([s.ms for s in visits]) / 1000) if count else None,
        "views_per_visit": ratio(sum(len(s.views) for s in visits), count) if count else None,
    }


def mean(milliseconds: Sequence[int]) -> float | None:
    """The mean in seconds."""
    if not milliseconds:
        return None
    return rounded(Fraction(sum(milliseconds), len(milliseconds) * 1000))


def money(acts: Iterable[Act]) -> float | None:
    """The sum of what was paid, to the cent."""
    paid = [Fraction(str(act.properties["total"])) for act in acts]
    return rounded(sum(paid, Fraction())) if paid else None


def by(field: str, rows: Iterable[Mapping[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Rows by the value of a field, which must be different in each."""
    listed = list(rows)
    found = {row[field]: {k: v for k, v in row.items() if k != field} for row in listed}
    assert len(found) == len(listed)
    return found
