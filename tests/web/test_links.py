"""Short links on the page: made, QR code read, clicked, changed."""

import re

import pytest

from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import CHROME_USER_AGENT, Tenant
from tests.http_client import call
from tests.ingest.links.qr_reader import read_qr_code
from tests.installation import eventually
from tests.web.dashboard import Dashboard
from tests.web.downloads import downloaded

BROWSER = {"user-agent": CHROME_USER_AGENT}
TARGET = "https://shop.example/autumn?utm_source=news+letter&utm_campaign=autumn#offer"
BAD_REQUEST = "Failed to load resource: the server responded with a status of 400 (Bad Request)"


def begin_link(dashboard: Dashboard, name: str, target: str, **address: str) -> None:
    """Fill in the form of a new link."""
    dashboard.open("links", **address)
    dashboard.press("New link")
    dashboard.type_into("dialog input[name=name]", name)
    dashboard.type_into("dialog input[name=targetUrl]", target)


def test_a_link_is_made_its_code_leads_to_it_and_its_clicks_are_shown(dashboard: Dashboard) -> None:
    begin_link(dashboard, "Newsletter", "shop.example/autumn#offer")
    dashboard.type_into("dialog input[name=utm_source]", "news letter")
    dashboard.type_into("dialog input[name=utm_campaign]", "autumn")
    dashboard.press("Save", "dialog")
    dashboard.until("document.querySelector('.qr img')")
    dashboard.settle()
    short = dashboard.text(".snippet pre")
    svg = str(dashboard.tab.js("decodeURIComponent(document.querySelector('.qr img').src)"))

    assert read_qr_code(svg.encode()) == short
    assert short.startswith(f"{dashboard.tenant.stack.collect_url}/l/")
    clicked = call("GET", short, None, BROWSER)
    assert (clicked.status, clicked.headers["location"]) == (302, TARGET)

    link = re.search(r"/links/([^?]+)", dashboard.tab.address)
    assert link
    query = {"link_id": link[1], "preset": "today"}
    eventually(lambda: dashboard.client.ask("link_total_clicks", **query)[0]["total"] == 1, 60)
    dashboard.tab.go(f"{dashboard.tab.address.split('?')[0]}?period=yesterday")
    dashboard.settle()
    dashboard.press("Show its clicks since then")
    dashboard.until("document.querySelector('.funnel-total')?.innerText.endsWith(' 1')")
    dashboard.settle()
    assert dashboard.text(".funnel-total") == "Clicks in this time range: 1"
    assert dashboard.rows("Browsers") == [["Chrome", "1"]]
    assert dashboard.rows("Cities") == [["Unknown", "1"]]


def test_the_list_shows_clicks_and_a_long_target_in_two_lines(dashboard: Dashboard) -> None:
    dashboard.open("links")
    for name, target in (
        ("Long", f"https://shop.example/?q={'word-' * 300}"),
        ("Quiet", "a.example"),
        ("=1+1", "a.example"),
    ):
        dashboard.press("New link")
        dashboard.until("document.activeElement?.name === 'name'")
        dashboard.type_into("dialog input[name=name]", name)
        dashboard.type_into("dialog input[name=targetUrl]", target)
        dashboard.press("Save", "dialog")
        dashboard.until("document.querySelector('.qr img')")
        short = dashboard.text(".snippet pre")
        if name == "Long":
            assert call("GET", short, None, BROWSER).status == 302
        dashboard.press("All short links", "main")
        dashboard.settle()

    def clicks() -> dict[str, str]:
        dashboard.tab.go(f"{dashboard.tab.address.split('?')[0]}?period=today")
        dashboard.settle()
        dashboard.until("document.querySelectorAll('main th').length > 4")
        return {row[0]: row[3] for row in dashboard.rows("Short links")}

    eventually(lambda: {"Long": "1", "Quiet": "0"}.items() <= clicks().items(), 60)
    file = {row["Name"]: row for row in downloaded(dashboard, "Short links")}
    assert {name: file[name]["Clicks"] for name in ("Long", "Quiet", "'=1+1")} == {
        "Long": "1",
        "Quiet": "0",
        "'=1+1": "0",
    }
    assert file["Quiet"]["Target"] == "https://a.example"
    heights = dashboard.tab.js(
        "[...document.querySelectorAll('main tbody tr')].map((row) => row.clientHeight)"
    )
    assert max(heights) < 80


def test_another_target_keeps_the_campaign(dashboard: Dashboard) -> None:
    begin_link(dashboard, "Autumn", "shop.example/autumn")
    dashboard.type_into("dialog input[name=utm_campaign]", "autumn")
    dashboard.type_into("dialog input[name=targetUrl]", "shop.example/winter?color=red")
    dashboard.type_into("dialog input[name=name]", "Winter")
    value = "document.querySelector('dialog input[name=targetUrl]').value"
    dashboard.until(f"{value} === 'shop.example/winter?color=red&utm_campaign=autumn'")

    dashboard.type_into("dialog input[name=targetUrl]", "shop.example/winter?color=red")
    dashboard.type_into("dialog input[name=name]", "Winter")
    dashboard.until(f"{value} === 'shop.example/winter?color=red'")  # taken away on purpose


@pytest.mark.parametrize(
    ("zone", "end"),
    [
        ("America/New_York", "2099-12-16T05:00:00.000Z"),
        ("Europe/Berlin", "2099-12-15T23:00:00.000Z"),
    ],
)
def test_the_last_day_of_a_link_ends_at_midnight_where_the_website_is(
    dashboard: Dashboard, zone: str, end: str
) -> None:
    begin_link(dashboard, f"Until {zone}", "shop.example/winter", tz=zone)
    day = "document.querySelector('dialog input[name=expiresAt]')"
    typed = f"{day}.dispatchEvent(new Event('input', {{bubbles: true}}))"
    dashboard.tab.js(f"{day}.value = '2020-01-01'; {typed}")
    dashboard.until(f"{day}.validationMessage.startsWith('Give a day')")
    dashboard.tab.js(
        f"{day}.value = '2099-12-15'; {day}.dispatchEvent(new Event('input', {{bubbles: true}}))"
    )
    dashboard.press("Save", "dialog")
    dashboard.until("document.querySelector('.qr img')")
    assert "Last day: Dec 15, 2099" in dashboard.text(".link-facts")

    headers = {"x-api-key": dashboard.tenant.key}
    links = call("GET", f"{dashboard.url}/v1/links", headers=headers).json["data"]
    [link] = [link for link in links if link["name"] == f"Until {zone}"]
    assert link["expiresAt"] == end


def test_a_link_is_changed_and_deleted(dashboard: Dashboard) -> None:
    begin_link(dashboard, "Poster", "https://shop.example/old")
    dashboard.press("Save", "dialog")
    dashboard.press("Edit", "main")
    dashboard.type_into("dialog input[name=targetUrl]", "https://shop.example/new")
    dashboard.press("Save", "dialog")
    dashboard.until("document.querySelector('main')?.innerText.includes('shop.example/new')")
    dashboard.press("Edit", "main")
    dashboard.press("Delete …", "dialog")
    dashboard.press("Delete", "dialog")
    dashboard.until("location.pathname.endsWith('/links')")
    dashboard.settle()
    assert "Poster" not in dashboard.text("main")


def test_a_refused_link_names_the_inputs_of_the_form(chromium: Chromium, shop: Tenant) -> None:
    tab = Tab.opened(chromium)
    dashboard = Dashboard(tab, shop)
    dashboard.take_session()
    dashboard.open("links")
    dashboard.press("New link")
    dashboard.type_into("dialog input[name=name]", "Refused")
    dashboard.type_into("dialog input[name=targetUrl]", "https://shop.example/")
    dashboard.type_into("dialog input[name=slug]", "no spaces")
    dashboard.press("Save", "dialog")
    assert dashboard.text("dialog .error").startswith("\u201cShort name\u201d must have")
    dashboard.check_tab(expected=[BAD_REQUEST])
    tab.close()
