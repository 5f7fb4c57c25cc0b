"""Properties of custom events by key and value."""

from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService


def test_properties_are_counted_by_key_and_value(service: InProcessService) -> None:
    service.holds(
        an_event("buy", properties='{"plan":"pro","seats":2}'),
        an_event("buy", properties='{"plan":"pro","seats":3.5}'),
        an_event("buy", properties='{"plan":"free","note":null}'),
        a_view("/", properties='{"plan":"none"}'),
    )

    assert [tuple(row.values()) for row in service.rows("custom_events_property_top_values")] == [
        ("buy", "plan", "pro", 2, 3, 66.67, 1),
        ("buy", "plan", "free", 1, 3, 33.33, 2),
        ("buy", "seats", "2", 1, 2, 50.0, 1),
        ("buy", "seats", "3.5", 1, 2, 50.0, 2),
    ]
    assert [tuple(row.values()) for row in service.rows("custom_events_discovery")] == [
        ("buy", 3, 1, 1, "plan", 2, ["pro", "free"]),
        ("buy", 3, 1, 1, "seats", 2, ["2", "3.5"]),
    ]
    plan, seats = service.rows("custom_events_property_classification")
    assert (plan["inferred_type"], plan["coverage_ratio"]) == ("categorical", 1.0)
    assert (seats["inferred_type"], seats["coverage_ratio"]) == ("numeric", 0.6667)
    assert (seats["avg_length"], seats["max_length"]) == (2.0, 3)
