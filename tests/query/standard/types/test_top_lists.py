"""Sources of visits: first referrer and campaign."""

from tests.query.lake import a_click, a_view, an_event
from tests.query.query_service import InProcessService
from tests.query.times import at


def test_a_visit_counts_for_the_source_that_it_came_from(service: InProcessService) -> None:
    service.holds(
        a_view("/", referrer_name="Google", utm_source="ad", at=at("12:00:00")),
        a_view("/b", referrer_name="Direct", at=at("12:01:00")),
        a_view("/c", referrer_name="Direct", session=None, visitor="u2"),
    )

    assert service.rows("traffic") == [
        {"name": "Google", "pageviews": 2, "visitors": 1, "percentage": 50.0},
        {"name": "Direct", "pageviews": 1, "visitors": 1, "percentage": 50.0},
    ]
    assert service.rows("utm_sources") == [
        {"name": "ad", "pageviews": 2, "visitors": 1, "percentage": 100.0}
    ]


def test_a_later_campaign_does_not_change_where_the_visit_came_from(
    service: InProcessService,
) -> None:
    service.holds(
        a_view("/", referrer_name="Google", at=at("12:00:00")),
        a_view("/b", utm_source="ad", referrer_name="X", at=at("12:01:00")),
    )

    assert [row["name"] for row in service.rows("traffic")] == ["Google"]
    assert service.rows("utm_sources") == []


def test_the_source_is_looked_for_before_filters_apply(service: InProcessService) -> None:
    service.holds(
        a_view("/", referrer_name="Google", at=at("12:00:00")),
        a_view("/pricing", referrer_name="Direct", at=at("12:01:00")),
    )
    pricing = [{"field": "path", "op": "eq", "value": "/pricing"}]

    assert service.rows("traffic", filters=pricing) == [
        {"name": "Google", "pageviews": 1, "visitors": 1, "percentage": 100.0}
    ]


def test_the_first_and_last_pages_of_sessions(service: InProcessService) -> None:
    service.holds(
        # the same instant: the order in which they were sent decides
        a_view("/in"),
        a_view("/out"),
        a_view("/in", session="s2", visitor="u2"),
    )

    assert service.rows("entry_pages") == [
        {"name": "/in", "pageviews": 2, "visitors": 2, "percentage": 100.0}
    ]
    assert service.rows("exit_pages") == [
        {"name": "/in", "pageviews": 1, "visitors": 1, "percentage": 50.0},
        {"name": "/out", "pageviews": 1, "visitors": 1, "percentage": 50.0},
    ]


def test_pages_are_ordered_by_visitors_and_share_them(service: InProcessService) -> None:
    service.holds(
        a_view("/a", visitor="u1"),
        a_view("/a", visitor="u2"),
        a_view("/b", visitor="u1"),
        a_view("/b", visitor="u1"),
        a_view("/c", visitor="u3"),
        a_view(None, visitor="u4"),
        an_event("signup", path="/a", visitor="u5"),
    )

    assert service.rows("pages") == [
        {"name": "/a", "pageviews": 2, "visitors": 2, "percentage": 50.0},
        {"name": "/b", "pageviews": 2, "visitors": 1, "percentage": 25.0},
        {"name": "/c", "pageviews": 1, "visitors": 1, "percentage": 25.0},
    ]
    assert [row["name"] for row in service.rows("pages", limit=2, page=2)] == ["/c"]


def test_traffic_without_a_referrer_is_direct(service: InProcessService) -> None:
    service.holds(
        a_view("/", visitor="u1", referrer="https://google.com/", referrer_name="Google"),
        a_view("/", visitor="u2", session="s2", referrer="Direct", referrer_name="Direct"),
        a_view("/", visitor="u3", session="s3"),
    )

    assert service.rows("traffic") == [
        {"name": "Direct", "pageviews": 2, "visitors": 2, "percentage": 66.67},
        {"name": "Google", "pageviews": 1, "visitors": 1, "percentage": 33.33},
    ]


def test_referrers_of_one_name_are_one_row(service: InProcessService) -> None:
    service.holds(
        a_click(referrer="https://x.com/b", referrer_name="X"),
        a_click(referrer="https://t.co/a", referrer_name="X"),
        a_click(referrer="Direct", referrer_name="Direct"),
        a_click(),
        a_click(),
        a_click(referrer="https://news.example/today", referrer_name="news.example"),
    )

    assert service.rows("link_top_referrers", subject="link:go") == [
        {"name": "Direct", "referrer": "Direct", "clicks": 3},
        {"name": "X", "referrer": "https://t.co/a", "clicks": 2},
        {"name": "news.example", "referrer": "https://news.example/today", "clicks": 1},
    ]
