"""Time on a page, by page."""

from decimal import Decimal

from query.standard.types.time_on_page import with_mean_time
from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService


def test_the_time_on_a_page_is_in_seconds(service: InProcessService) -> None:
    service.holds(
        a_view("/a", time_on_page=10),
        a_view("/a", time_on_page=25, visitor="u2", session="s2"),
        a_view("/a", visitor="u3", session="s3"),
        an_event("page_exit", path="/a", time_on_page=Decimal(1)),
    )

    assert service.rows("page_performance") == [
        {"name": "/a", "pageviews": 3, "avg_time_on_page": 12.0, "visitors": 3}
    ]
    assert service.rows("page_time_analysis") == [
        {
            "name": "/a",
            "sessions_with_time": 2,
            "visitors": 2,
            "median_time_on_page": 17.5,
            "percentage": 100.0,
        }
    ]


def test_prepared_page_views_are_completed_by_path() -> None:
    views = [("/b", 2, 2, 2, 3), ("/a", 1, 1, 1, 3)]

    assert with_mean_time(views, [("/a", Decimal(5), 1), ("/left", Decimal(9), 2)]) == [
        ("/b", 2, None, 0, 2),
        ("/a", 1, Decimal(5), 1, 1),
    ]
