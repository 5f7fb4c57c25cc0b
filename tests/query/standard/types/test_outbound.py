"""Outbound clicks by target, text and domain."""

from tests.query.lake import a_view, an_outbound_click
from tests.query.query_service import InProcessService


def test_links_away_are_told_apart_by_target_and_text(service: InProcessService) -> None:
    service.holds(
        an_outbound_click("https://a.example/x", "Docs", visitor="u1", session="s1"),
        an_outbound_click(
            "https://a.example/x", "Docs", visitor="u2", session="s2", at="2026-11-11T08:00:00.125Z"
        ),
        an_outbound_click("https://a.example/x", "More", visitor="u1", session="s1"),
        a_view("/"),
    )

    assert service.rows("outbound_links") == [
        {
            "href": "https://a.example/x",
            "text": "Docs",
            "total_clicks": 2,
            "unique_users": 2,
            "unique_sessions": 2,
            "percentage": 66.67,
            "last_clicked": "2026-11-11T08:00:00.125Z",
        },
        {
            "href": "https://a.example/x",
            "text": "More",
            "total_clicks": 1,
            "unique_users": 1,
            "unique_sessions": 1,
            "percentage": 33.33,
            "last_clicked": "2026-11-10T12:00:00.000Z",
        },
    ]


def test_domains_share_the_clicks_of_one_website(service: InProcessService) -> None:
    service.holds(
        an_outbound_click("https://a.example/1", visitor="u1"),
        an_outbound_click("https://a.example/2", visitor="u2"),
        an_outbound_click("https://b.example/1", visitor="u1"),
        an_outbound_click("https://b.example/1", visitor="u9", website="blog"),
    )

    assert service.rows("outbound_domains") == [
        {
            "domain": "a.example",
            "total_clicks": 2,
            "unique_users": 2,
            "unique_links": 2,
            "percentage": 66.67,
        },
        {
            "domain": "b.example",
            "total_clicks": 1,
            "unique_users": 1,
            "unique_links": 1,
            "percentage": 33.33,
        },
    ]
