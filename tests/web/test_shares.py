"""A shared dashboard: made on the page, opened by somebody else, embedded."""

import json
from urllib.parse import urlsplit

from tests.browser.web_site import Html, WebSite
from tests.flow.tenant import DAY
from tests.installation import Installation
from tests.web.dashboard import RANGE, Dashboard
from tests.web.downloads import downloaded
from tests.web.share_links import PASSWORD, share, until_unlisted

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
CARDS = (
    "[...document.querySelectorAll('main section.card[aria-label]')].map((each) => each.ariaLabel)"
)
PERSONAL = (
    "!!document.querySelector('main :is(a, button).row-link, main .link-button, .retention button')"
)
MENU_ITEMS = """(async () => {
  const items = [];
  for (const button of document.querySelectorAll("main .card-menu")) {
    button.click();
    const panel = document.getElementById(button.getAttribute("popovertarget"));
    while (!panel.firstElementChild) await new Promise((done) => setTimeout(done, 20));
    items.push(...[...panel.querySelectorAll("button, a")].map((each) => each.innerText.trim()));
    panel.hidePopover();
  }
  return items;
})()"""
"""What the menus of all cards offer."""


def offers_only_files(visitor: Dashboard) -> bool:
    """Whether no menu of a card has more than a file: a shared dashboard has no API."""
    return all(item.startswith("Download CSV: ") for item in visitor.tab.js(MENU_ITEMS))


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
    visitor.press("Menu")
    assert "Keyboard shortcuts" in visitor.text(".settings-menu:popover-open")
    assert "Sign out" not in visitor.text(".settings-menu:popover-open")
    visitor.tab.go(f"{link}/list/top_pages?period={RANGE}")
    visitor.settle()
    file = downloaded(visitor, "Pages")
    assert [[row["Pages"], row["Visitors"]] for row in file] == [
        [row["name"], str(row["visitors"])] for row in pages
    ]
    visitor.press("Filter", ".filters")
    visitor.until("document.querySelector('.filter-panel .dimension')")
    assert "Saved segments" not in visitor.text(".filter-panel")
    visitor.tab.js("document.querySelector('.filter-panel .dimension').click()")
    items = "document.querySelectorAll('.dimensions [data-field]')"
    fields = visitor.until(f"{items}.length && [...{items}].map(each => each.dataset.field)")
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
    assert visitor.tab.js("document.querySelectorAll('main .card-menu').length") > 0
    assert offers_only_files(visitor)
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


def test_code_to_embed_it_is_offered_when_a_website_may(dashboard: Dashboard) -> None:
    share(dashboard, "plain")
    assert "No website may embed this link" in dashboard.text(".new-link")
    assert "<iframe" not in dashboard.text(".new-link")

    share(dashboard, "embedded", origins="https://agency.example")
    assert "<iframe" in dashboard.text(".new-link")


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
    [row] = visitor.rows("Side by side")
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
        assert visitor.text(".chip.fixed") == "Device is Mobile"
        assert not visitor.tab.js(PERSONAL)
        assert offers_only_files(visitor)

    opened("live")
    assert visitor.tab.js(CARDS) == []  # of the day of the tests: nobody is there now
    assert "visitors online now" in visitor.text("main")
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
