"""Bots: who they are and what for, which pages they read, and one of them alone."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY, Tenant
from tests.query.lake import a_view
from tests.web.dashboard import Dashboard, signed_in
from tests.web.query_alone import query_alone


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """A tenant with two bots and one visitor."""
    at = f"{DAY}T10:00:00Z"
    views = [
        *(a_view(p, at=at, is_bot=True, bot_reason="ai crawler: GPTBot") for p in ("/a", "/b")),
        a_view("/a", at=at, is_bot=True, bot_reason="search: Googlebot"),
        a_view("/a", at=at, visitor="u1", session="s1"),
    ]
    with query_alone(tmp_path_factory.mktemp("crawled"), views) as tenant:
        yield tenant


@pytest.fixture
def bots(chromium: Chromium, crawled: Tenant) -> Iterator[Dashboard]:
    """Its dashboard, signed in."""
    yield from signed_in(chromium, crawled)


def test_bots_are_listed_and_one_opens_with_its_pages(bots: Dashboard) -> None:
    bots.open("bots")
    listed = bots.rows("Bots and AI crawlers")
    assert [row[:4] for row in listed] == [
        ["GPTBot", "AI crawler", "2", "2"],
        ["Googlebot", "Search", "1", "1"],
    ]
    pages = bots.rows("Pages that bots read")
    assert sorted(row[:3] for row in pages) == [
        ["/a", "GPTBot", "1"],
        ["/a", "Googlebot", "1"],
        ["/b", "GPTBot", "1"],
    ]

    bots.press("GPTBot", "main")
    bots.until("document.querySelector('.crumbs strong')?.innerText === 'AI crawler: GPTBot'")
    bots.settle()

    assert [row[:2] for row in bots.rows("Pages that bots read")] == [["/a", "1"], ["/b", "1"]]
