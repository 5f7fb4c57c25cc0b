"""Retention of cohorts, with numbers worked out by hand."""

from tests.query.lake import a_view
from tests.query.query_service import InProcessService


def test_retention_follows_cohorts_and_marks_what_is_not_over(service: InProcessService) -> None:
    service.holds(
        a_view("/", visitor="u1", at="2026-11-16T12:00:00Z"),
        a_view("/", visitor="u2", at="2026-11-17T12:00:00Z"),
        a_view("/", visitor="u1", at="2026-11-23T12:00:00Z"),
        a_view("/", visitor="u3", at="2026-11-24T12:00:00Z"),
        a_view("/", visitor="u2", at="2026-11-30T00:30:00Z"),
    )
    # it is Monday the 30th, 00:53 UTC
    span = {"startDate": "2026-11-16", "endDate": "2026-12-06"}

    rows = service.rows({"name": "retention", "period": "week"}, **span)

    assert [tuple(row.values())[:6] for row in rows] == [
        ("2026-11-16", 0, 2, 2, 100.0, True),
        ("2026-11-16", 1, 2, 1, 50.0, True),
        ("2026-11-16", 2, 2, 1, 50.0, False),
        ("2026-11-23", 0, 1, 1, 100.0, True),
        ("2026-11-23", 1, 1, 0, 0.0, False),
        ("2026-11-30", 0, 0, 0, 0.0, False),
    ]


def test_a_day_of_retention_is_a_day_of_the_zone(service: InProcessService) -> None:
    service.holds(
        a_view("/", at="2026-11-10T22:30:00Z"),  # 23:30 in Berlin
        a_view("/", at="2026-11-10T23:30:00Z"),  # the day after
    )
    span = {"startDate": "2026-11-10", "endDate": "2026-11-11", "timezone": "Europe/Berlin"}

    rows = service.rows({"name": "retention", "period": "day"}, **span)

    assert [(row["date"], row["period"], row["visitors"], row["returned"]) for row in rows] == [
        ("2026-11-10", 0, 1, 1),
        ("2026-11-10", 1, 1, 1),
        ("2026-11-11", 0, 0, 0),
    ]


def test_too_many_cohorts_are_refused(service: InProcessService) -> None:
    message = service.query({"name": "retention", "period": "day"}, startDate="2026-01-01").json[
        "data"
    ]

    assert message[0]["error"] == (
        "'period' day makes 334 cohorts in this time range; at most 100 are allowed"
    )
