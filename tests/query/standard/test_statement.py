"""A filter on a fact of rows keeps the whole visits that have such a row, in metrics of visits."""

from typing import Any

import pytest

from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService

PRICING = [{"field": "path", "operator": "eq", "value": "/pricing"}]


def at(clock: str) -> str:
    return f"2026-11-10T{clock}Z"


TRAFFIC = (
    # two minutes with two page views and a sign-up
    a_view("/", visitor="u1", session="s1", at=at("12:00:00")),
    a_view("/pricing", visitor="u1", session="s1", at=at("12:01:00")),
    an_event("signup", visitor="u1", session="s1", at=at("12:02:00"), path="/thanks"),
    # a bounce
    a_view("/pricing", visitor="u2", session="s2", at=at("13:00:00")),
    # a visit that never saw the page
    a_view("/docs", visitor="u3", session="s3", at=at("14:00:00")),
)

EXPECTED: dict[str, list[dict[str, Any]]] = {
    "summary": [
        {
            **{"sessions": 2, "bounce_rate": 50.0, "median_session_duration": 60.0},
            "pages_per_session": 1.5,
        }
    ],
    "events_by_date": [
        {
            **{"sessions": 2, "bounce_rate": 50.0, "median_session_duration": 60.0},
            "pages_per_session": 1.5,
        }
    ],
    "session_metrics": [{"total_sessions": 2, "avg_session_duration": 60.0, "bounce_rate": 50.0}],
    "session_duration_distribution": [
        {"duration_range": "0-30s", "sessions": 1},
        {"duration_range": "1m-5m", "sessions": 1},
    ],
    "sessions_by_browser": [{"sessions": 2, "avg_session_duration": 60.0}],
    "sessions_time_series": [{"sessions": 2, "avg_session_duration": 60.0}],
    "session_flow": [{"from_path": "/", "to_path": "/pricing", "transitions": 1}],
    "interesting_sessions": [
        {"session_id": "s1", "duration_seconds": 120, "page_views": 2, "paths": ["/", "/pricing"]},
        {"session_id": "s2", "duration_seconds": 0, "page_views": 1, "paths": ["/pricing"]},
    ],
    "session_list": [
        {"session_id": "s2", "page_views": 1, "first_visit": "2026-11-10T13:00:00.000Z"},
        {"session_id": "s1", "page_views": 2, "first_visit": "2026-11-10T12:00:00.000Z"},
    ],
    "entry_pages": [{"name": "/", "pageviews": 1}, {"name": "/pricing", "pageviews": 1}],
    "exit_pages": [{"name": "/pricing", "pageviews": 2}],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_filter_on_a_page_keeps_the_visits_that_saw_it(
    service: InProcessService, name: str
) -> None:
    service.holds(*TRAFFIC)

    rows = service.rows(name, filters=PRICING)

    columns = EXPECTED[name][0].keys()
    found = [{column: row[column] for column in columns} for row in rows]
    assert [row for row in found if any(row.values())] == EXPECTED[name]


def test_the_end_of_a_time_range_does_not_belong_to_it(service: InProcessService) -> None:
    service.holds(
        a_view("/", visitor="u1", at="2026-11-10T00:00:00Z"),
        a_view("/", visitor="u2", at="2026-11-10T23:59:59.999Z"),
        a_view("/", visitor="u3", at="2026-11-11T00:00:00Z"),
    )
    day = {"startDate": "2026-11-10", "endDate": "2026-11-10"}

    assert service.rows("summary", **day)[0]["unique_visitors"] == 2
