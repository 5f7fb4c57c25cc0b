"""Errors by message, page and class."""

from tests.query.lake import an_error
from tests.query.query_service import InProcessService


def test_errors_without_a_class_are_apart_from_those_named_error(service: InProcessService) -> None:
    days = {"startDate": "2026-11-10", "endDate": "2026-11-10", "compare": "previous_period"}
    service.holds(
        an_error("a", error_type="Error"),
        an_error("b"),
        an_error("c"),
        an_error("d", at="2026-11-09T12:00:00Z"),
    )

    [entry] = service.query("errors_by_type", **days).json["data"]

    assert [(row["name"], row["count"]) for row in entry["data"]] == [(None, 2), ("Error", 1)]
    assert [row["change"]["count"] for row in entry["comparison"]["rows"]] == [1, 1]
