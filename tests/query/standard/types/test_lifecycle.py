"""lifecycle: numbers worked out by hand."""

from typing import Any

from tests.query.lake import a_view
from tests.query.query_service import InProcessService

ACTIVE = {
    "u1": ("2026-11-02", "2026-11-09", "2026-11-10", "2026-11-18"),  # three weeks in a row
    "u2": ("2026-11-03", "2026-11-17"),  # back after a week
    "u3": ("2026-11-12",),
    "u4": ("2026-09-01", "2026-11-11"),
}


def lifecycle(service: InProcessService, **more: Any) -> list[tuple[Any, ...]]:
    days = [(visitor, day) for visitor, each in ACTIVE.items() for day in each]
    service.holds(*(a_view("/", visitor=who, at=f"{day}T12:00:00Z") for who, day in days))
    body = {"startDate": "2026-11-02", "endDate": "2026-11-22", **more}
    period = body.pop("period", "week")
    rows = service.rows({"name": "lifecycle", "period": period}, **body)
    return [tuple(row.values()) for row in rows]


def test_each_visitor_of_a_week_is_new_returning_or_resurrecting(service: InProcessService) -> None:
    assert lifecycle(service) == [
        ("2026-11-02", 2, 2, 0, 0, 0),
        ("2026-11-09", 3, 1, 1, 1, 1),
        ("2026-11-16", 2, 0, 1, 1, 2),
    ]


def test_the_first_week_is_whole_and_follows_one_before_the_range(
    service: InProcessService,
) -> None:
    found = lifecycle(service, startDate="2026-11-12", endDate="2026-11-15")

    assert found == [("2026-11-09", 3, 1, 1, 1, 1)]


def test_who_was_there_before_the_month_before_is_not_new(service: InProcessService) -> None:
    found = lifecycle(service, period="month", startDate="2026-10-05", endDate="2026-12-31")

    assert found == [
        ("2026-10-01", 0, 0, 0, 0, 1),
        ("2026-11-01", 4, 3, 0, 1, 0),
    ]


def test_new_is_whoever_was_never_seen_whatever_the_filters(service: InProcessService) -> None:
    found = lifecycle(
        service,
        period="day",
        startDate="2026-11-10",
        endDate="2026-11-11",
        filters=[{"field": "path", "op": "eq", "value": "/"}],
    )

    assert found == [("2026-11-10", 1, 0, 1, 0, 0), ("2026-11-11", 1, 0, 0, 1, 1)]
