"""Load times by page."""

from tests.query.lake import a_view
from tests.query.query_service import InProcessService


def test_load_times_have_a_median_and_what_is_missing_is_null(service: InProcessService) -> None:
    service.holds(
        *(a_view("/slow", load_time=ms) for ms in (1000, 3000)),
        a_view("/fast", load_time=100, ttfb=40),
        a_view("/fast", load_time=0),
        a_view("/fast"),
    )

    assert [tuple(row.values()) for row in service.rows("slow_pages")] == [
        ("/slow", 1, 2000.0, 2000.0, None, None, None, 2),
        ("/fast", 1, 100.0, 100.0, 40.0, None, None, 1),
    ]
