"""Time on a page, by page."""

from decimal import Decimal
from typing import Any

from query.standard.types.time_on_page import with_mean_time
from tests.query.lake import Stored, a_view, an_event
from tests.query.metrics_queries import ask, rows, where
from tests.query.query_service import InProcessService

DAY = {"startDate": "2026-11-10", "endDate": "2026-11-10"}


def test_the_time_on_a_page_is_in_seconds(service: InProcessService) -> None:
    service.holds(
        a_view("/a", time_on_page=10),
        a_view("/a", time_on_page=25, visitor="u2", session="s2"),
        a_view("/a", visitor="u3", session="s3"),
        an_event("page_exit", path="/a", time_on_page=Decimal(1)),
    )

    assert service.rows("page_performance") == [
        {"name": "/a", "pageviews": 3, "avg_time_on_page": 18.0, "visitors": 3}
    ]
    assert service.rows("page_time_analysis") == [
        {
            "name": "/a",
            "sessions_with_time": 2,
            "visitors": 2,
            "median_time_on_page": 18.0,
            "percentage": 100.0,
        }
    ]


def test_the_times_of_a_page_view_add_up(service: InProcessService) -> None:
    def at(time: str) -> str:
        return f"2026-11-10T{time}Z"

    def left(path: str, time: str, seconds: float, **more: Any) -> Stored:
        return an_event("page_exit", path=path, at=at(time), time_on_page=seconds, **more)

    service.holds(
        a_view("/a", at=at("09:00:00"), title="A"),
        left("/a", "09:00:20", 20),
        left("/a", "09:00:50", 30),
        left("/a", "09:59:59.999", 10),
        # the next page view of it, of which nothing is reported before that of /b
        a_view("/a", at=at("10:00:00"), title="A again"),
        a_view("/b", at=at("10:00:00"), title="B"),
        left("/b", "10:00:05", 5),
        left("/a", "10:00:09", 4),
        left("/a", "10:00:12", 2),
        # another visitor on the same page at the same time; one without a session
        a_view("/a", at=at("09:00:10"), visitor="u2", session="s2", time_on_page=3, title="A"),
        left("/a", "09:00:30", 9, visitor="u2", session="s2"),
        left("/a", "09:00:31", 8, visitor=None, session=None),
    )

    # 60, 6, 12 and 8 seconds of /a
    [a, b] = service.rows("page_performance")
    assert (a["pageviews"], a["avg_time_on_page"]) == (3, 21.5)
    assert (b["pageviews"], b["avg_time_on_page"]) == (1, 5.0)
    assert [tuple(row.values())[:4] for row in service.rows("page_time_analysis")] == [
        ("/a", 2, 2, 10.0),
        ("/b", 1, 1, 5.0),
    ]
    for dimension, expected in {
        "title": [("A", 36.0), (None, 8.0), ("A again", 6.0), ("B", 5.0)],
        "time:hour": [("2026-11-10 09:00:00", 26.67), ("2026-11-10 10:00:00", 5.5)],
        "name": [("screen_view", 20.75), ("page_exit", 8.0)],
    }.items():
        reply = ask(service, "time_on_page", dimensions=[dimension], **DAY).json
        found = [tuple(row.values()) for row in reply["data"] if row["time_on_page"]]
        assert found == expected
    [filtered] = rows(service, "time_on_page", filters=[where("title", "A")], **DAY)
    assert filtered == {"time_on_page": 36.0}


def test_prepared_page_views_are_completed_by_path() -> None:
    views = [("/b", 2, 2, 2, 3), ("/a", 1, 1, 1, 3)]

    assert with_mean_time(views, [("/a", Decimal(5), 1), ("/left", Decimal(9), 2)]) == [
        ("/b", 2, None, 0, 2),
        ("/a", 1, Decimal(5), 1, 1),
    ]
