"""Custom events: everything but page views, page exits and outbound clicks."""

from tests.oracle.aggregates import ResultRow, distinct, grouped, is_view, ordered, shared, visitors
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row
from tests.oracle.wall_clock import iso


def custom(scoped: ScopedRows) -> list[Row]:
    """The custom events."""
    return [row for row in scoped.events if is_custom(row)]


def is_custom(row: Row) -> bool:
    """Whether the sender named it."""
    own = is_view(row) or row["name"] == "page_exit"
    return not own and row.get("outbound_domain") is None


def kind(row: Row) -> str:
    """What an event is."""
    if is_view(row):
        return "page_view"
    if row["name"] == "page_exit":
        return "page_exit"
    return "event" if is_custom(row) else "outbound"


def custom_events(scoped: ScopedRows) -> list[ResultRow]:
    result = [
        {
            "name": name,
            "total_events": len(held),
            "unique_users": visitors(held),
            "unique_sessions": distinct(held, "session_id"),
            "last_occurrence": iso(held[-1]["ms"]),
            "first_occurrence": iso(held[0]["ms"]),
            "events_with_properties": sum(
                row.get("properties") not in (None, "{}") for row in held
            ),
        }
        for name, held in grouped(custom(scoped), lambda row: row["name"]).items()
    ]
    return ordered(shared(result, "unique_users"), "-unique_users", "-total_events", "name")


def totals(held: list[Row]) -> ResultRow:
    """Totals of a number of custom events."""
    return {
        "total_events": len(held),
        "unique_event_types": distinct(held, "name"),
        "unique_users": visitors(held),
        "unique_sessions": distinct(held, "session_id"),
        "unique_pages": distinct(held, "path"),
    }


EVENTS: Oracles = {
    "custom_events": Oracle(custom_events, 10_000),
    "custom_events_summary": Oracle(lambda scoped: [totals(custom(scoped))]),
}
