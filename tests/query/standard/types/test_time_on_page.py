"""Time on a page, by page."""

from decimal import Decimal

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
