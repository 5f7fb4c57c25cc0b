"""Days, hours and late rows: each row counts at its time in the zone of the query."""

from tests.query.lake import a_click, a_view
from tests.query.query_service import InProcessService


def test_every_day_has_a_point_also_without_clicks(service: InProcessService) -> None:
    service.holds(a_click(at="2026-11-02T23:59:59.999Z"), a_click(at="2026-11-04T00:00:00Z"))
    span = {"startDate": "2026-11-02", "endDate": "2026-11-04"}

    assert service.rows("link_clicks_by_day", subject="link:go", **span) == [
        {"date": "2026-11-02", "clicks": 1},
        {"date": "2026-11-03", "clicks": 0},
        {"date": "2026-11-04", "clicks": 1},
    ]


def test_days_are_days_of_the_zone_and_both_ends_belong(service: InProcessService) -> None:
    service.holds(
        a_click(at="2026-11-01T22:59:59.999Z"),  # still the 1st in Berlin
        a_click(at="2026-11-01T23:00:00Z"),  # the 2nd
        a_click(at="2026-11-02T22:59:59.999Z"),  # the 2nd
        a_click(at="2026-11-02T23:00:00Z"),  # the 3rd
    )
    span = {"startDate": "2026-11-02", "endDate": "2026-11-02", "timezone": "Europe/Berlin"}

    assert service.rows("link_clicks_by_day", subject="link:go", **span) == [
        {"date": "2026-11-02", "clicks": 2}
    ]


def test_the_hour_that_occurs_twice_keeps_its_clicks_apart(service: InProcessService) -> None:
    service.holds(
        a_click(at="2026-10-25T00:30:00Z"),  # 02:30 summer time
        a_click(at="2026-10-25T01:30:00Z"),  # 02:30 winter time
        a_click(at="2026-10-25T01:40:00Z"),
    )
    day = {"startDate": "2026-10-25", "endDate": "2026-10-25", "timezone": "Europe/Berlin"}

    hours = service.rows("link_clicks_by_day", subject="link:go", granularity="hourly", **day)

    assert hours[1:5] == [
        {"date": "2026-10-25 01:00:00", "clicks": 0},
        {"date": "2026-10-25 02:00:00", "clicks": 1},
        {"date": "2026-10-25 02:00:00", "clicks": 2},
        {"date": "2026-10-25 03:00:00", "clicks": 0},
    ]
    assert sum(hour["clicks"] for hour in hours) == 3
    assert service.rows("link_clicks_by_day", subject="link:go", **day) == [
        {"date": "2026-10-25", "clicks": 3}
    ]


def test_a_series_is_whole_unless_a_limit_is_asked(service: InProcessService) -> None:
    month = service.rows("link_clicks_by_day", subject="link:go", granularity="hourly")
    third = service.rows("link_clicks_by_day", subject="link:go", limit=2, page=3)

    assert len(month) == 30 * 24
    assert [row["date"] for row in third] == ["2026-11-05", "2026-11-06"]


def test_a_late_row_is_found_by_when_it_happened(service: InProcessService) -> None:
    service.holds(a_view("/", at="2026-11-30T23:00:00Z", received="2026-12-07T22:00:00Z"))

    assert service.rows("summary")[0]["pageviews"] == 1
