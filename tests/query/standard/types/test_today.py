"""Figures of the current day; it is 2026-11-30T00:53:20Z."""

from tests.query.lake import a_view
from tests.query.query_service import InProcessService


def test_today_is_the_day_of_the_zone(service: InProcessService) -> None:
    service.holds(
        a_view("/", at="2026-11-29T23:30:00Z"),  # the 30th in Berlin
        a_view("/", at="2026-11-30T00:30:00Z", visitor="u2", session="s2"),
        a_view("/", at="2026-11-29T22:30:00Z", visitor="u3", session="s3"),
    )

    assert service.rows("today_metrics") == [{"pageviews": 1, "visitors": 1, "sessions": 1}]
    assert service.rows("today_metrics", timezone="Europe/Berlin") == [
        {"pageviews": 2, "visitors": 2, "sessions": 2}
    ]
