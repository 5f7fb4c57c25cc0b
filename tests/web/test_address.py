"""Addresses that cannot be read, and a view that fails: the page stays, says so, and goes on."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import Tenant
from tests.web.dashboard import Dashboard

BROKEN_ESCAPES = ("events/100%", "visitors/%zz", "sessions/%", "errors/%E0%A4%A")
UNREADABLE = {
    "overview?compare=x": "compare",
    "overview?compare=2026-13-01..2026-14-02": "compare",
    "overview?period=2026-02-30..2026-03-01": "period",
    "overview?by=second": "by",
    "overview?tz=Foo/Bar": "tz",
    'sessions?f={"or":5}': "f",
    'sessions?f={"field":{},"operator":"eq"}&f=nothing': "f",
    'explore?q={"metrics":["visitors"],"dimensions":["path"],"filters":{}}': "q",
    'explore?q={"having":7}': "q",
    'explore?q={"selects":[]}': "q",
    "funnels?steps=path:%25": "steps",
    "retention?cohort=x&after=y": "cohort, after",
    "list/top_pages?page=-1&sort=:": "page, sort",
}
"""Addresses, and the parameters that the page must name as left out."""

NO_SORT = "Array.prototype.toSorted = () => { throw new TypeError('no sort') }"
"""Breaks the view of paths, which sorts what it draws, and no other."""


@pytest.fixture
def broken(chromium: Chromium, small: Tenant) -> Iterator[Dashboard]:
    """The dashboard in a browser in which the view of paths cannot be drawn."""
    tab = Tab.opened(chromium)
    tab.before_each(NO_SORT)
    page = Dashboard(tab, small)
    page.sign_in()
    yield page
    tab.close()


def test_a_broken_escape_is_taken_as_it_is(page: Dashboard) -> None:
    site = f"{page.url}/{page.tenant.website.id}"
    for path in BROKEN_ESCAPES:
        page.tab.go(f"{site}/{path}")
        page.settle()
        assert path.partition("/")[2] in page.text("main")
    page.tab.go(f"{site}/list/%")
    assert page.text("main .empty") == "There is no such view."
    page.tab.go(f"{page.url}/%E0%A4%A")
    assert "This website does not exist" in page.text("main .empty")


def test_parameters_that_cannot_be_read_are_named_and_left_out(page: Dashboard) -> None:
    site = f"{page.url}/{page.tenant.website.id}"
    for address, names in UNREADABLE.items():
        page.tab.go(f"{site}/{quote(address, safe='/?&=:,%')}")
        page.settle()
        assert page.text(".unread").endswith(f"left out: {names}"), address
        page.until("!document.querySelector('main .failed')")
    page.press("Visits", "nav")
    page.until("!document.querySelector('.unread')")


def test_names_with_slashes_and_addresses_of_other_hosts_stay_on_the_page(
    page: Dashboard,
) -> None:
    page.open("events/https%3A%2F%2Fa.example%2Fx")
    assert "https://a.example/x" in page.text("main .crumbs")
    page.tab.go(f"{page.url}/%2Fother.example/overview")
    page.until("document.querySelector('main .empty')")
    hosts = page.tab.js("[...document.links].map((link) => link.host)")
    assert set(hosts) == {page.tab.js("location.host")}


def test_a_view_that_fails_says_so_and_leaves_a_way_on(broken: Dashboard) -> None:
    broken.press("Paths", "nav")
    assert broken.text(".broken h2") == "This part of the page cannot be shown"
    assert "no sort" in broken.text(".broken .quiet")
    assert not broken.tab.js("!!document.querySelector('main .totals')")
    broken.press("Overview", "nav")
    broken.until("document.querySelector('.totals')")
    assert not broken.tab.js("!!document.querySelector('.broken')")
