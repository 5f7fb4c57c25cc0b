"""Real-time types: now and today, whatever time range the query has."""

from collections.abc import Callable

from tests.oracle import wall_clock
from tests.oracle.aggregates import ResultRow, grouped, named, ordered, views, visitors
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.sessions import sessions
from tests.oracle.stored_rows import Row
from tests.oracle.types.events import kind
from tests.oracle.types.top_lists import tagged_source
from tests.oracle.wall_clock import MINUTE, iso
from tests.query.query_service import NOW


def last(minutes: int, rows: Callable[[ScopedRows], list[ResultRow]], limit: int = 100) -> Oracle:
    """Asked of the last minutes; a clock may be five minutes ahead."""

    def of(scoped: ScopedRows) -> list[ResultRow]:
        return rows(scoped.between(NOW - minutes * MINUTE, NOW + 5 * MINUTE))

    return Oracle(of, limit)


def today(scoped: ScopedRows) -> list[ResultRow]:
    zone = scoped.query.zone
    day = wall_clock.wall(NOW, zone).date()
    seen = scoped.between(*wall_clock.bounds(day, day, zone))
    return [
        {
            "pageviews": len(views(seen.events)),
            "visitors": visitors(seen.events),
            "sessions": len(sessions(seen.visit_events)),
        }
    ]


def active(scoped: ScopedRows) -> list[ResultRow]:
    visits = sessions(scoped.visit_events)
    return [{"active_users": visitors(views(scoped.events)), "active_sessions": len(visits)}]


def pages(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {"path": path, "pageviews": len(held), "visitors": visitors(held)}
        for path, held in grouped(views(scoped.events), lambda row: row.get("path")).items()
    ]
    return ordered(result, "-visitors", "-pageviews", "path")


def referrers(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {"referrer": name, "visitors": visitors(held)}
        for name, held in grouped(views(scoped.events), tagged_source).items()
    ]
    return ordered(result, "-visitors", "referrer")


def countries(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {"name": name, "visitors": visitors(held)}
        for name, held in grouped(views(scoped.events), lambda row: row.get("country")).items()
    ]
    return ordered(result, "-visitors", "name")


def cities(scoped: ScopedRows) -> list[ResultRow]:
    def city(row: Row) -> tuple[str, str] | None:
        return (row["city"], row.get("country") or "") if row.get("city") is not None else None

    result: list[ResultRow] = [
        {"city": name, "country": country, "visitors": visitors(held)}
        for (name, country), held in grouped(views(scoped.events), city).items()
    ]
    return ordered(result, "-visitors", "city", "country")


def feed(scoped: ScopedRows) -> list[ResultRow]:
    return [
        {
            "event_name": row["name"],
            **named(row, "path", "country", "browser_name"),
            "timestamp": iso(row["ms"]),
            "kind": kind(row),
            "href": row.get("href"),
            "source": tagged_source(row),
            "session_id": row["session_id"],
            "visitor_id": row["device"],
        }
        for row in reversed(scoped.events)
    ]


def visits(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "session_id": session.events[0]["session_id"],
            "current_page": session.views[-1].get("path"),
            **named(session.views[-1], "country", "device_type"),
            "pages_viewed": len(session.views),
            "last_seen": iso(session.events[-1]["ms"]),
        }
        for session in sessions(scoped.visit_events)
    ]
    return ordered(result, "-last_seen", "session_id")


def velocity(scoped: ScopedRows) -> list[ResultRow]:
    """The last 60 minutes, this one included."""
    groups = grouped(scoped.events, lambda row: row["ms"] // MINUTE)
    this = NOW // MINUTE
    return [
        {
            "minute": iso(minute * MINUTE),
            "pageviews": len(views(held := groups.get(minute, []))),
            "events": len(held),
            "visitors": visitors(held),
        }
        for minute in range(this - 59, this + 1)
    ]


REALTIME: Oracles = {
    "today_metrics": Oracle(today),
    "active_stats": last(5, active),
    "realtime_pages": last(5, pages, 10),
    "realtime_referrers": last(5, referrers, 10),
    "realtime_countries": last(5, countries, 50),
    "realtime_cities": last(5, cities, 30),
    "realtime_feed": last(30, feed, 30),
    "realtime_sessions": last(5, visits, 20),
    "realtime_velocity": last(60, velocity),
}
