"""Shared dashboards that ended, were revoked or never were: what list and visitor see."""

import pytest

from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import DAY, Tenant
from tests.http_client import call
from tests.web.dashboard import RANGE, Dashboard
from tests.web.share_links import PASSWORD, share, until_unlisted
from tests.web.test_accessibility import set_theme, violations

BAD_REQUEST = "Failed to load resource: the server responded with a status of 400 (Bad Request)"


def test_an_ended_link_says_so(dashboard: Dashboard, visitor: Dashboard) -> None:
    link = share(dashboard, "short")
    dashboard.press("Revoke the link short")
    dashboard.press("Revoke", "dialog form")
    until_unlisted(dashboard, "short")
    visitor.tab.go(link)
    assert "not available" in visitor.text("main .card")
    visitor.check_tab()


def test_a_dashboard_that_is_revoked_while_it_is_open_says_so_at_its_next_request(
    page: Dashboard, chromium: Chromium
) -> None:
    link = share(page, "left open", PASSWORD)
    tab = Tab.opened(chromium)
    visitor = Dashboard(tab, page.tenant)
    tab.go(f"{link}/overview?period={RANGE}")
    visitor.type_into("input[name=password]", PASSWORD)
    visitor.press("Open")
    visitor.until("document.querySelector('.totals')")
    visitor.settle()

    page.press("Revoke the link left open")
    page.press("Revoke", "dialog form")
    until_unlisted(page, "left open")
    asks = "!!document.querySelector('input[name=password]')"
    tab.js(
        f"window.asked = false; new MutationObserver(() => {{ window.asked ||= {asks}; }})"
        ".observe(document.body, { childList: true, subtree: true })"
    )
    assert "tidemark_share=password" in tab.js("document.cookie")
    tab.set_size(1440, 900)  # a smaller window has the navigation in a menu
    visitor.press("Events", "nav")
    visitor.until("document.querySelector('.not-opened')")
    assert visitor.text("main h1") == "This dashboard is not available"
    assert "for a new one" in visitor.text("main .card")
    assert not tab.js("window.asked")
    tab.close()


def test_the_list_shows_the_last_day_that_was_chosen(page: Dashboard) -> None:
    year = DAY.year + 1
    page.open("shares", tz="America/New_York")
    page.type_into("input[name=name]", "until a day")
    page.tab.js(
        f"(field => {{ field.value = '{year}-12-31'; field.dispatchEvent(new Event('input')) }})"
        "(document.querySelector('input[name=expires]'))"
    )
    page.press("Share this dashboard", "form")
    url = f"{page.url}/v1/shares?website_id={page.tenant.website.id}"
    body = {"name": "until an hour", "filters": [], "expires": f"{year}-12-31T12:30:00Z"}
    assert call("POST", url, body, {"x-api-key": page.tenant.key}).status == 201
    page.until("document.querySelector('main table')?.innerText.includes('until a day')")
    page.open("shares", tz="America/New_York")

    cells = {row[0]: row for row in page.rows("Shared dashboards")}
    assert f"last day Dec 31, {year}" in cells["until a day"]
    assert f"Dec 31, {year}, 7:30\N{NO-BREAK SPACE}AM" in cells["until an hour"]


def test_the_list_marks_a_link_that_has_ended(dashboard: Dashboard) -> None:
    share(dashboard, "lasting")
    ends = "Date.now = ((now) => () => now() + 48 * 3_600_000)(Date.now)"
    dashboard.tab.before_each(f"if (location.hash === '#later') {ends}")
    dashboard.type_into("input[name=name]", "ending")
    dashboard.tab.js(
        "(field => { field.value = new Date().toISOString().slice(0, 10);"
        "field.dispatchEvent(new Event('input')) })"
        "(document.querySelector('input[name=expires]'))"
    )
    dashboard.press("Share this dashboard", "form")
    dashboard.until("document.querySelector('main table')?.innerText.includes('ending')")
    assert not dashboard.tab.js("!!document.querySelector('.ended')")

    dashboard.tab.go("about:blank")
    dashboard.tab.go(f"{dashboard.url}/{dashboard.tenant.website.id}/shares#later")
    dashboard.settle()
    names = [row[0] for row in dashboard.rows("Shared dashboards")]
    assert [name for name in names if name.endswith("ended")] == ["ending ended"]


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
@pytest.mark.parametrize(("width", "height"), [(360, 740), (1440, 900)])
def test_the_page_of_a_link_that_opens_nothing_is_centred_and_readable(
    chromium: Chromium, small: Tenant, theme: str, width: int, height: int
) -> None:
    tab = Tab.opened(chromium)
    nobody = Dashboard(tab, small)
    tab.set_size(width, height)
    set_theme(nobody, theme)
    tab.go(f"{nobody.url}/s/{'0' * 22}_{'x' * 43}")
    assert nobody.text("main h1") == "This dashboard is not available"
    assert "for a new one" in nobody.text("main .card")
    box = tab.js("document.querySelector('main .card').getBoundingClientRect().toJSON()")
    page = tab.js("[document.body.clientWidth, innerHeight]")
    assert box["left"] + box["width"] / 2 == pytest.approx(page[0] / 2, abs=2)
    assert 0 < box["top"] < page[1] - box["bottom"] + page[1] / 4
    assert tab.js("document.documentElement.scrollWidth") <= page[0]
    assert violations(nobody) == []
    tab.close()


@pytest.mark.parametrize("link", ["", "x" * 129])
def test_a_link_that_cannot_be_one_says_so(chromium: Chromium, small: Tenant, link: str) -> None:
    tab = Tab.opened(chromium)
    nobody = Dashboard(tab, small)
    tab.go(f"{nobody.url}/s/{link}")
    assert "This link is not valid" in nobody.text("main .card")
    assert not tab.js("!!document.querySelector('input')")
    nobody.check_tab(expected=[BAD_REQUEST])
    tab.close()
