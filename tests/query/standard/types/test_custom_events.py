"""Custom events by day and name."""

from tests.query.lake import an_event
from tests.query.query_service import InProcessService


def test_events_of_each_day_are_counted_by_name(service: InProcessService) -> None:
    service.holds(
        an_event("a"), an_event("a"), an_event("b"), an_event("b", at="2026-11-12T00:00:00Z")
    )

    assert [tuple(row.values()) for row in service.rows("custom_events_trends_by_event")] == [
        ("2026-11-10", "a", 2),
        ("2026-11-10", "b", 1),
        ("2026-11-12", "b", 1),
    ]
