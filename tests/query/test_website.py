"""Totals of a website: numbers worked out by hand from the definitions."""

from pathlib import Path

import pytest

from tests.query.house import House, house
from tests.query.lake import a_view, an_event


@pytest.fixture
def desk(tmp_path: Path) -> House:
    return house(tmp_path)


def test_a_summary_counts_views_visitors_sessions_and_bounces(desk: House) -> None:
    desk.holds(
        # u1: two views in 60 s
        a_view("/", visitor="u1", session="s1", at="2026-11-10T12:00:00Z"),
        a_view("/pricing", visitor="u1", session="s1", at="2026-11-10T12:01:00Z"),
        # u2: one view and its exit after 4 s: a bounce
        a_view("/", visitor="u2", session="s2", at="2026-11-10T13:00:00Z"),
        an_event("page_exit", visitor="u2", session="s2", at="2026-11-10T13:00:04Z"),
        # u3: one view of 30 reported seconds: no bounce
        a_view("/", visitor="u3", session="s3", at="2026-11-10T14:00:00Z", time_on_page=30.5),
        # a server: an event without a session
        an_event("renewed", visitor=None, session=None),
        # another website
        a_view("/", website="blog", visitor="u9", session="s9"),
    )

    assert desk.rows("summary") == [
        {
            "pageviews": 4,
            "unique_visitors": 3,
            "sessions": 3,
            "bounce_rate": 33.33,
            "median_session_duration": 30.5,
            "total_events": 6,
        }
    ]
