"""All websites of a key on one page: numbers of each, and of all as one."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY, Tenant
from tests.http_client import call
from tests.query.lake import Stored, a_view
from tests.web.dashboard import RANGE, Dashboard, signed_in
from tests.web.query_alone import query_alone
from tests.web.test_accessibility import PHONE, violations

CARDS = """[...document.querySelectorAll("main .site")].map((card) => [
  ".site-name strong", ".site-figure"].map((part) => card.querySelector(part).innerText))"""
TOGETHER = """Object.fromEntries([...document.querySelectorAll(".together-facts > div")].map(
  (each) => [each.querySelector("dt").innerText, each.querySelector(".total-value").innerText]))"""


def seen(website: str, *visitors: str) -> list[Stored]:
    return [
        a_view("/", website=website, visitor=visitor, session=f"{website}-{visitor}", at=AT)
        for visitor in visitors
    ]


AT = f"{DAY}T10:00:00Z"
ROWS = [*seen("shop", "u1", "u2"), *seen("docs", "u1", "u3", "u4")]


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """Two visitors of a shop, three of documentation, one of them the same; nobody on a blog."""
    folder = tmp_path_factory.mktemp("several")
    with query_alone(folder, ROWS, others=("docs", "blog")) as tenant:
        yield tenant


@pytest.fixture
def page(chromium: Chromium, several: Tenant) -> Iterator[Dashboard]:
    yield from signed_in(chromium, several)


def open_all(page: Dashboard, view: str = "websites", **query: str) -> None:
    text = "&".join(f"{name}={value}" for name, value in {"period": RANGE, **query}.items())
    page.tab.go(f"{page.url}/all/{view}?{text}")
    page.settle()


def visitors_of(page: Dashboard, website: str) -> int:
    """As the API answers for the website alone."""
    body = {"parameters": ["summary_metrics"], "startDate": str(DAY), "endDate": str(DAY)}
    headers = {"authorization": f"Bearer {page.tenant.key}"}
    reply = call("POST", f"{page.url}/v1/query?website_id={website}", body, headers)
    rows = reply.json["data"][0]["data"]
    return int(rows[0]["unique_visitors"])


def test_each_website_has_the_numbers_of_its_own_overview(page: Dashboard) -> None:
    open_all(page)

    cards = dict(page.until(CARDS))
    assert cards == {"docs.example": "3", "Shop": "2", "blog.example": "0"}
    assert [visitors_of(page, each) for each in ("docs", "shop", "blog")] == [3, 2, 0]
    assert list(cards) == ["docs.example", "Shop", "blog.example"]  # most visitors first
    assert violations(page) == []
    page.tab.set_size(PHONE, 740)
    assert page.tab.js("document.documentElement.scrollWidth") <= PHONE


def test_a_visitor_of_two_websites_counts_once_in_all(page: Dashboard) -> None:
    open_all(page)
    together = page.until(TOGETHER)
    assert together["Unique visitors"] == "4"
    assert together["Visits"] == together["Page views"] == "5"

    page.press("Open combined view")
    page.until("location.pathname === '/all/overview'")
    page.settle()
    assert page.text(".total-value") == "4"


def test_websites_are_ordered_searched_and_opened(page: Dashboard) -> None:
    open_all(page)
    page.press("By name")
    page.until("location.search.includes('sort=name')")
    page.settle()
    assert [name for name, _ in page.until(CARDS)] == ["blog.example", "docs.example", "Shop"]

    page.type_into("input[type=search]", "docs")
    page.until("document.querySelectorAll('main .site').length === 1")
    page.tab.js("document.querySelector('main a.site').click()")
    page.until("location.pathname === '/docs/overview'")
    page.settle()
    assert page.text(".total-value") == "3"


def test_a_key_of_several_websites_begins_with_all(page: Dashboard) -> None:
    page.tab.go(f"{page.url}/")
    page.until("location.pathname === '/all/websites'")
    page.settle()
    assert len(page.until(CARDS)) == 3
