"""Activity of visitors, computed from scratch for every window and period."""

from collections.abc import Mapping
from datetime import date, timedelta
from itertools import pairwise

from tests.oracle import wall_clock
from tests.oracle.aggregates import ResultRow, percent
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import FAR_MS, ScopedRows
from tests.oracle.stored_rows import Row
from tests.query.query_service import NOW

PERIODS = {"day": "daily", "week": "weekly", "month": "monthly"}


def visitors_by_label(rows: list[Row], zone: str, width: str) -> Mapping[str, set[str]]:
    """The visitors of each bucket."""
    found: dict[str, set[str]] = {}
    for row in rows:
        if row["anonymous_id"] is not None:
            label = wall_clock.bucket(row["ms"], zone, width)[0]
            found.setdefault(label, set()).add(row["anonymous_id"])
    return found


def begun(label: str, zone: str) -> bool:
    """Whether the first instant of a bucket is not in the future."""
    return wall_clock.first_instant(date.fromisoformat(label), zone) <= NOW


def labels_of(scoped: ScopedRows, width: str) -> list[str]:
    """The buckets of the time range that have begun."""
    zone = scoped.query.zone
    points = wall_clock.points(scoped.start_ms, scoped.end_ms, zone, width)
    return [label for label, _ in points if begun(label, zone)]


def active_visitors(scoped: ScopedRows) -> list[ResultRow]:
    """For each day the visitors of one, seven and thirty days that end with it."""
    zone = scoped.query.zone
    earliest = wall_clock.first_instant(scoped.query.start - timedelta(days=29), zone)
    by_day = visitors_by_label(scoped.read_from(earliest).events, zone, "daily")

    def counted(day: date, days: int) -> int:
        window = [(day - timedelta(days=back)).isoformat() for back in range(days)]
        return len(set[str]().union(*(by_day.get(label, set()) for label in window)))

    rows: list[ResultRow] = []
    for label in labels_of(scoped, "daily"):
        daily, weekly, monthly = (counted(date.fromisoformat(label), n) for n in (1, 7, 30))
        rows.append(
            {
                "date": label,
                "daily_visitors": daily,
                "weekly_visitors": weekly,
                "monthly_visitors": monthly,
                "daily_of_weekly": percent(daily, weekly),
                "daily_of_monthly": percent(daily, monthly),
            }
        )
    return rows


def stickiness(scoped: ScopedRows) -> list[ResultRow]:
    """Visitors by the number of periods in which they have an event."""
    width = PERIODS[scoped.query.options.get("period", "day")]
    by_label = visitors_by_label(scoped.events, scoped.query.zone, width)
    people = set[str]().union(*by_label.values())
    counts = [sum(person in each for each in by_label.values()) for person in people]
    return [
        {
            "periods": number,
            "visitors": counts.count(number),
            "percentage": percent(counts.count(number), len(people)),
        }
        for number in sorted(set(counts))
    ]


def lifecycle(scoped: ScopedRows) -> list[ResultRow]:
    """Each period beside the one before, and beside all that ever was before it."""
    zone, width = scoped.query.zone, PERIODS[scoped.query.options.get("period", "day")]
    if not (points := wall_clock.points(scoped.start_ms, scoped.end_ms, zone, width)):
        return []  # a day that its zone left out
    first = date.fromisoformat(points[0][0])
    back = {"daily": 1, "weekly": 7, "monthly": 1}[width]
    before = first - timedelta(days=back)
    start_ms = wall_clock.first_instant(
        before.replace(day=1) if width == "monthly" else before, zone
    )
    held = scoped.read_from(start_ms)
    active = visitors_by_label(held.events, zone, width)
    ever = visitors_by_label(scoped.between(0, FAR_MS).rows("events", filtered=False), zone, width)
    points = wall_clock.points(start_ms, scoped.end_ms, zone, width)
    rows: list[ResultRow] = []
    for (earlier, _), (label, _) in pairwise(points):
        if not begun(label, zone):
            continue
        people, prior = active.get(label, set()), active.get(earlier, set())
        known = set[str]().union(*(who for other, who in ever.items() if other < label))
        rows.append(
            {
                "date": label,
                "visitors": len(people),
                "new": len(people - known),
                "returning": len(people & prior),
                "resurrecting": len((people & known) - prior),
                "dormant": len(prior - people),
            }
        )
    return rows


ACTIVE: Oracles = {
    "active_visitors": Oracle(active_visitors, 10_000),
    "stickiness": Oracle(stickiness, 1_000),
    "lifecycle": Oracle(lifecycle, 10_000),
}
