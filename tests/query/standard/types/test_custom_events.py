"""Custom events: totals by name, and by day and name."""

from tests.query.lake import a_view, an_event, an_outbound_click
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


def test_custom_events_are_what_the_sender_named(service: InProcessService) -> None:
    service.holds(
        a_view("/"),
        an_event("page_exit"),
        an_outbound_click("https://x.example/"),
        an_event("signup", properties='{"plan":"pro"}', at="2026-11-10T12:00:00Z"),
        an_event("signup", properties="{}", visitor="u2", at="2026-11-11T12:00:00Z"),
        an_event("login", path="/in"),
    )

    assert service.rows("custom_events") == [
        {
            "name": "signup",
            "total_events": 2,
            "unique_users": 2,
            "unique_sessions": 1,
            "last_occurrence": "2026-11-11T12:00:00.000Z",
            "first_occurrence": "2026-11-10T12:00:00.000Z",
            "events_with_properties": 1,
            "percentage": 66.67,
        },
        {
            "name": "login",
            "total_events": 1,
            "unique_users": 1,
            "unique_sessions": 1,
            "last_occurrence": "2026-11-10T12:00:00.000Z",
            "first_occurrence": "2026-11-10T12:00:00.000Z",
            "events_with_properties": 0,
            "percentage": 33.33,
        },
    ]
    assert service.rows("custom_events_summary") == [
        {
            "total_events": 3,
            "unique_event_types": 2,
            "unique_users": 2,
            "unique_sessions": 1,
            "unique_pages": 1,
        }
    ]
