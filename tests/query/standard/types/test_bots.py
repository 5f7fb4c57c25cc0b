"""Bots by name, purpose, page and time: rows that every other type leaves out."""

from typing import Any

from tests.query.lake import a_click, a_view, an_event
from tests.query.query_service import InProcessService

LATER = "2026-11-11T08:00:00.125Z"
GOOGLE: dict[str, Any] = {"is_bot": True, "bot_reason": "search: Googlebot"}
GPT: dict[str, Any] = {"is_bot": True, "bot_reason": "ai crawler: GPTBot"}
HEADLESS: dict[str, Any] = {"is_bot": True, "bot_reason": "headless browser"}


def test_bots_are_listed_by_name_and_purpose_page_and_time(service: InProcessService) -> None:
    service.holds(
        a_view("/a", **GOOGLE),
        a_view("/b", at=LATER, **GOOGLE),
        an_event("scroll", path="/b", at=LATER, **GOOGLE),
        a_view("/a", at=LATER, **GPT),
        an_event("error", path=None, at=LATER, **HEADLESS),
        a_view("/a"),
        a_view("/a", bot_reason="hint: data centre"),
        a_view("/a", website="blog", **GPT),
    )
    first, last = "2026-11-10T12:00:00.000Z", LATER

    assert [tuple(row.values()) for row in service.rows("bots")] == [
        ("Googlebot", "search", 3, 2, 2, first, last),
        ("GPTBot", "ai crawler", 1, 1, 1, last, last),
        ("", "headless browser", 1, 0, 0, last, last),
    ]
    assert [tuple(row.values()) for row in service.rows("bot_pages")] == [
        ("/b", "Googlebot", "search", 2, last),
        ("/a", "GPTBot", "ai crawler", 1, last),
        ("/a", "Googlebot", "search", 1, first),
    ]
    days = [tuple(row.values()) for row in service.rows("bots_time_series")]
    assert [day for day in days if day[1]] == [
        ("2026-11-10", 1, 0, 1, 1),
        ("2026-11-11", 4, 1, 2, 3),
    ]
    assert len(days) == 30
    assert service.rows("top_pages")[0]["pageviews"] == 2


def test_a_filter_finds_the_pages_of_one_bot(service: InProcessService) -> None:
    service.holds(a_view("/a", **GOOGLE), a_view("/b", **GPT), a_view("/c", **GPT))
    of_gpt = [{"field": "bot_reason", "op": "eq", "value": "ai crawler: GPTBot"}]

    assert [row["path"] for row in service.rows("bot_pages", filters=of_gpt)] == ["/b", "/c"]


def test_bots_that_clicked_a_short_link_are_listed(service: InProcessService) -> None:
    service.holds(
        a_click(is_bot=True, bot_reason="preview: Bluesky", at=LATER),
        a_click(is_bot=True, bot_reason="preview: Bluesky"),
        a_click(),
    )

    assert service.rows("link_bots", subject="link:go") == [
        {
            "name": "Bluesky",
            "purpose": "preview",
            "clicks": 2,
            "first_seen": "2026-11-10T12:00:00.000Z",
            "last_seen": LATER,
        }
    ]
