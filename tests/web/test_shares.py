"""A shared dashboard: made on the page, opened by somebody else, embedded, ended."""

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.browser.web_site import Html, WebSite
from tests.flow.tenant import DAY, Tenant
from tests.http_client import call
from tests.installation import Installation
from tests.web.dashboard import RANGE, Dashboard
from tests.web.downloads import downloaded
from tests.web.test_accessibility import set_theme, violations

DESKTOP = {"field": "device_type", "operator": "eq", "value": "desktop"}
MOBILE = {"field": "device_type", "operator": "eq", "value": "mobile"}
GERMANY = {"field": "country", "operator": "eq", "value": "DE"}
SHARED_VIEWS = [
    ["1", "Overview"],
    ["2", "Live"],
    ["5", "Events"],
    ["6", "Paths"],
    ["7", "Funnels"],
    ["9", "Retention"],
    ["0", "Web vitals"],
]
PASSWORD = "correct horse"
CARDS = (
    "[...document.querySelectorAll('main section.card[aria-label]')].map((each) => each.ariaLabel)"
)
PERSONAL = (
    "!!document.querySelector('main .row-link, main .link-button, .retention button,"
    " .card-actions .icon')"
)
BAD_REQUEST = "Failed to load resource: the server responded with a status of 400 (Bad Request)"


@pytest.fixture
def visitor(chromium: Chromium, shop: Tenant) -> Iterator[Dashboard]:
    """A browser without any sign-in."""
    tab = Tab.opened(chromium)
    yield Dashboard(tab, shop)
    tab.close()


def share(
    dashboard: Dashboard,
    name: str,
    password: str = "",
    origins: str = "",
    fixed: str = "country:eq:DE",
) -> str:
    """Fill in the form on the page, with a filter; the link that the page shows."""
    dashboard.open("shares", f=fixed)
    dashboard.type_into("input[name=name]", name)
    if password:
        dashboard.type_into("input[name=password]", password)
    if origins:
        dashboard.type_into("textarea[name=origins]", origins)
    dashboard.press("Share this dashboard", "form")
    link, _, query = dashboard.text(".new-link pre").partition("?")
    assert query == f"period={RANGE}"
    return link


def until_unlisted(dashboard: Dashboard, name: str) -> None:
    """Wait until the list has no link with this name."""
    rows = "[...document.querySelectorAll('main tbody tr')]"
    dashboard.until(f"!{rows}.some((row) => row.innerText.includes('{name}'))")


def test_a_link_shows_the_filtered_dashboard_and_nothing_else(
    dashboard: Dashboard, visitor: Dashboard
) -> None:
    link = share(dashboard, "public")
    visitor.tab.go(f"{link}/overview?period={RANGE}")
    visitor.until("document.querySelector('.totals')")
    visitor.settle()

    [summary] = dashboard.ask("summary", filters=[GERMANY])
    assert visitor.text(".total-value") == str(summary["unique_visitors"]) == "4"
    assert visitor.text(".chip.fixed") == "Country is Germany"
    pages = dashboard.ask("top_pages", filters=[GERMANY], limit=8)
    assert visitor.rows("Pages") == [[row["name"], str(row["visitors"])] for row in pages]
    assert "Sign out" not in visitor.text("header.top")
    visitor.tab.go(f"{link}/list/top_pages?period={RANGE}")
    visitor.settle()
    file = downloaded(visitor, "Pages")
    assert [[row["Pages"], row["Visitors"]] for row in file] == [
        [row["name"], str(row["visitors"])] for row in pages
    ]
    visitor.press("+ Filter")
    visitor.until("document.querySelector('dialog select')")
    fields = visitor.tab.js(
        "[...document.querySelector('dialog select').options].map(each => each.value)"
    )
    assert {"path", "country"} <= set(fields)
    assert not {"did.path", "anonymous_id", "session_id", "visitor.profile_id"} & set(fields)
    for field in fields:
        filtered = f"{link}/overview?period={RANGE}&f={field}:is_not_null"
        visitor.tab.go(filtered)
        visitor.until("document.querySelector('.totals')")
        visitor.settle()
    shown = "[...document.querySelectorAll('nav.side a')].map((a) => [a.dataset.key, a.innerText])"
    assert visitor.tab.js(shown) == SHARED_VIEWS
    visitor.tab.go(f"{link}/shares")
    visitor.until("document.querySelector('main .empty')")
    visitor.check_tab()


def test_a_password_is_asked_first(dashboard: Dashboard, visitor: Dashboard) -> None:
    link = share(dashboard, "locked", PASSWORD)
    visitor.tab.go(f"{link}/overview?period={RANGE}")
    visitor.until("document.querySelector('input[name=password]')")
    visitor.check_tab()
    visitor.type_into("input[name=password]", "wrong horse")
    visitor.press("Open")
    assert visitor.text(".error") == "The password is wrong"
    visitor.check_tab()
    visitor.type_into("input[name=password]", PASSWORD)
    visitor.press("Open")
    visitor.until("document.querySelector('.totals')")
    visitor.settle()
    assert visitor.text(".chip.fixed") == "Country is Germany"
    assert not visitor.tab.js(
        "[...document.querySelectorAll('button')].some(b => b.innerText === '</>')"
    )
    visitor.tab.go("about:blank")
    visitor.tab.go(f"{link}/overview?period={RANGE}")
    visitor.until("document.querySelector('.totals')")
    visitor.settle()
    assert visitor.text(".chip.fixed") == "Country is Germany"
    visitor.check_tab()

    dashboard.press("Revoke the link locked")
    dashboard.press("Revoke", "dialog form")
    until_unlisted(dashboard, "locked")
    visitor.tab.go("about:blank")
    visitor.tab.go(f"{link}/overview?period={RANGE}")
    assert "not available" in visitor.text("main .card")
    assert visitor.tab.js("Object.keys(localStorage)") == []


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
    visitor.press("Events")
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
        "(field => { field.value = field.min; field.dispatchEvent(new Event('input')) })"
        "(document.querySelector('input[name=expires]'))"
    )
    dashboard.press("Share this dashboard", "form")
    dashboard.until("document.querySelector('main table').innerText.includes('ending')")
    assert not dashboard.tab.js("!!document.querySelector('.ended')")

    dashboard.tab.go("about:blank")
    dashboard.tab.go(f"{dashboard.url}/{dashboard.tenant.website.id}/shares#later")
    dashboard.settle()
    names = [row[0] for row in dashboard.rows("Shared dashboards")]
    assert [name for name in names if name.endswith("ended")] == ["ending ended"]


def test_code_to_embed_it_is_offered_when_a_website_may(dashboard: Dashboard) -> None:
    share(dashboard, "plain")
    assert "No website may embed this link" in dashboard.text(".new-link")
    assert "<iframe" not in dashboard.text(".new-link")

    share(dashboard, "embedded", origins="https://agency.example")
    assert "<iframe" in dashboard.text(".new-link")


@pytest.mark.parametrize("theme", ["light", "dark"])
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


def test_only_an_allowed_origin_can_embed_it(
    dashboard: Dashboard, visitor: Dashboard, stack: Installation
) -> None:
    with WebSite(stack.collect_url) as site:
        allowed = urlsplit(site.url("/", "allowed.example"))
        link = share(dashboard, "framed", origins=f"{allowed.scheme}://{allowed.netloc}")
        page = f'<!doctype html><iframe src="{link}" width=900 height=900></iframe>'
        site.pages["/embed"] = Html(page)
        for host, loads in (("allowed.example", True), ("other.example", False)):
            before = len(visitor.tab.requests)
            visitor.tab.go(site.url("/embed", host))
            opened = [url for _, url in visitor.tab.requests[before:]]
            assert link in opened
            refused = json.dumps(visitor.tab.complaints[-1:])
            assert ("frame-ancestors" in refused) is not loads


def test_web_vitals_are_shared_without_what_a_link_may_not_ask(
    dashboard: Dashboard, visitor: Dashboard
) -> None:
    link = share(dashboard, "vitals", fixed="device_type:eq:desktop")
    visitor.tab.go(f"{link}/vitals?period={RANGE}")
    visitor.until("document.querySelector('.totals.vitals')")
    visitor.settle()

    [device] = dashboard.ask("web_vitals_by_device", filters=[DESKTOP])
    [row] = visitor.rows("By device and country")
    assert row[-2:] == [str(device["measurements"]), str(device["visitors"])]
    assert not visitor.tab.js("!!document.querySelector('.rating-bar')")
    visitor.check_tab()


def test_behavior_is_shared_without_single_visitors(
    dashboard: Dashboard, visitor: Dashboard
) -> None:
    link = share(dashboard, "behavior", fixed="device_type:eq:mobile")

    def opened(view: str, query: str = "") -> None:
        visitor.tab.go(f"{link}/{view}?period={RANGE}{query}")
        visitor.until("document.querySelector('main .card')")
        visitor.settle()
        assert visitor.text(".chip.fixed") == "Device is mobile"
        assert not visitor.tab.js(PERSONAL)

    opened("live")
    assert visitor.tab.js(CARDS) == ["Pages", "Referrers", "Countries"]
    opened("events")
    events = dashboard.ask("custom_events", filters=[MOBILE])
    assert {row[0]: row[1] for row in visitor.rows("Events")} == {
        row["name"]: str(row["total_events"]) for row in events
    }
    opened(f"events/{events[0]['name']}")
    assert visitor.tab.js(CARDS) == ["In this time range", f"{events[0]['name']} over time"]
    opened("paths", "&path=/")
    paths = dashboard.ask("paths", max_steps=4, filters=[MOBILE])
    assert [[row[0], row[-1]] for row in visitor.rows("Paths")] == [
        [row["name"], str(row["visitors"])] for row in paths
    ]
    opened("funnels", "&steps=path:%2F,path:%2Fpricing")
    steps = [{"path": "/"}, {"path": "/pricing"}]
    rows = dashboard.ask("funnel", steps=steps, filters=[MOBILE])
    assert f"{rows[1]['visitors']} of {rows[0]['visitors']}" in visitor.text(".funnel-total")
    offered = "[...document.querySelector('.steps select').options].map((each) => each.value)"
    assert visitor.tab.js(offered) == ["path", "event"]
    opened("funnels")
    assert visitor.until("document.querySelector('.funnel-total')?.innerText")
    opened("retention", f"&cohort={DAY}&after=0")
    [cohort] = dashboard.ask("retention", period="day", filters=[MOBILE])
    assert visitor.text(".retention tbody td").startswith(str(cohort["visitors"]))
    box = "getComputedStyle(document.querySelector('.retention tbody td > span')).display"
    assert visitor.tab.js(box) == "block"  # as wide as its cell, for its shade
    visitor.tab.go(f"{link}/goals?period={RANGE}")
    visitor.until("document.querySelector('main .empty')")
    visitor.check_tab()
