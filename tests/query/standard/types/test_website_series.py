"""Series of a website agree with its totals."""

from tests.query.lake import (
    a_view,
)
from tests.query.query_service import InProcessService


def test_the_course_of_a_website_agrees_with_its_totals(service: InProcessService) -> None:
    service.holds(
        # begins on the 10th and goes on after midnight
        a_view("/a", session="s1", at="2026-11-10T23:59:00Z"),
        a_view("/b", session="s1", at="2026-11-11T00:01:00Z"),
        a_view("/a", session="s2", visitor="u2", at="2026-11-11T09:00:00Z"),
    )
    days = {"startDate": "2026-11-10", "endDate": "2026-11-12"}

    nothing = dict.fromkeys(("pageviews", "visitors", "sessions"), 0)
    ratios = ("bounce_rate", "median_session_duration", "pages_per_session")
    assert service.rows("events_by_date", **days) == [
        {
            "date": "2026-11-10",
            "pageviews": 1,
            "visitors": 1,
            "sessions": 1,
            "bounce_rate": 0.0,
            "median_session_duration": 120.0,
            "pages_per_session": 2.0,
        },
        {
            "date": "2026-11-11",
            "pageviews": 2,
            "visitors": 2,
            "sessions": 1,
            "bounce_rate": 100.0,
            "median_session_duration": 0.0,
            "pages_per_session": 1.0,
        },
        {"date": "2026-11-12", **nothing, **dict.fromkeys(ratios, 0.0)},
    ]
    assert service.rows("session_metrics", **days) == [
        {
            "total_sessions": 2,
            "avg_session_duration": 60.0,
            "bounce_rate": 50.0,
            "total_events": 3,
        }
    ]
