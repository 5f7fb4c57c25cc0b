"""active_visitors and stickiness: numbers worked out by hand."""

from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService

ACTIVE = {
    "u1": ("2026-10-12", "2026-10-13", "2026-11-10"),
    "u2": ("2026-11-04", "2026-11-11"),
    "u3": ("2026-11-10",),
}
"""Days on which visitors have an event."""
SPAN = {"startDate": "2026-11-10", "endDate": "2026-11-12"}


def hold(service: InProcessService) -> None:
    days = [(visitor, day) for visitor, each in ACTIVE.items() for day in each]
    service.holds(
        *(a_view("/", visitor=visitor, at=f"{day}T12:00:00Z") for visitor, day in days),
        an_event("signup", visitor="u3", at="2026-11-10T13:00:00Z"),
        a_view("/", visitor=None, at="2026-11-10T12:00:00Z"),
    )


def rows_of(service: InProcessService, **more: object) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in service.rows("active_visitors", **{**SPAN, **more})]


def test_windows_end_with_each_day_and_begin_before_the_time_range(
    service: InProcessService,
) -> None:
    hold(service)

    assert rows_of(service) == [
        # 7 days from the 4th: u1, u2, u3; 30 from 12 October: the same
        ("2026-11-10", 2, 3, 3, 66.67, 66.67),
        # from the 5th: u2 by the 11th itself
        ("2026-11-11", 1, 3, 3, 33.33, 33.33),
        ("2026-11-12", 0, 3, 3, 0.0, 0.0),
    ]


def test_a_visitor_leaves_a_window_after_its_last_day(service: InProcessService) -> None:
    hold(service)

    weekly = {row[0]: row[2] for row in rows_of(service, endDate="2026-11-19")}

    assert weekly["2026-11-16"] == 3  # u1 and u3 since the 10th
    assert weekly["2026-11-17"] == 1  # u2 since the 11th
    assert weekly["2026-11-18"] == 0


def test_days_that_have_not_begun_have_no_row(service: InProcessService) -> None:
    """It is the 30th, 00:53 UTC, and still the 29th in New York."""
    hold(service)
    span = {"startDate": "2026-11-29", "endDate": "2026-12-03"}

    assert [row[0] for row in rows_of(service, **span)] == ["2026-11-29", "2026-11-30"]
    assert [row[0] for row in rows_of(service, **span, timezone="America/New_York")] == [
        "2026-11-29"
    ]


def test_filters_hold_in_the_days_before_as_well(service: InProcessService) -> None:
    hold(service)
    signed_up = [{"field": "name", "op": "eq", "value": "signup"}]

    assert rows_of(service, filters=signed_up)[0] == ("2026-11-10", 1, 1, 1, 100.0, 100.0)


def test_windows_are_compared_day_by_day(service: InProcessService) -> None:
    hold(service)

    entry = service.query("active_visitors", **SPAN, compare={"to": "previous_period"}).json[
        "data"
    ][0]

    assert [row["previous"]["date"] for row in entry["comparison"]["rows"]] == [
        "2026-11-07",
        "2026-11-08",
        "2026-11-09",
    ]
    assert [row["previous"]["monthly_visitors"] for row in entry["comparison"]["rows"]] == [2, 2, 2]


def test_stickiness_counts_the_days_of_each_visitor(service: InProcessService) -> None:
    hold(service)
    span = {"startDate": "2026-10-01", "endDate": "2026-11-29"}

    days = service.rows("stickiness", **span)
    months = service.rows({"name": "stickiness", "period": "month"}, **span)

    assert [tuple(row.values()) for row in days] == [(1, 1, 33.33), (2, 1, 33.33), (3, 1, 33.33)]
    assert [tuple(row.values()) for row in months] == [(1, 2, 66.67), (2, 1, 33.33)]
