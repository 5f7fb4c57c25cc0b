"""Short links on the page: made, QR code read, clicked, changed."""

import re

from tests.http_client import call
from tests.ingest.links.qr_reader import read_qr_code
from tests.installation import eventually
from tests.web.dashboard import Dashboard


def test_a_link_is_made_its_code_leads_to_it_and_its_clicks_are_shown(dashboard: Dashboard) -> None:
    dashboard.open("links")
    dashboard.press("+ New link")
    dashboard.type_into("dialog input[name=name]", "Newsletter")
    dashboard.type_into("dialog input[name=targetUrl]", "shop.example/autumn")
    dashboard.press("Save", "dialog")
    dashboard.until("document.querySelector('.qr img')")
    dashboard.settle()
    short = dashboard.text(".snippet pre")
    svg = str(dashboard.tab.js("decodeURIComponent(document.querySelector('.qr img').src)"))

    assert read_qr_code(svg.encode()) == short
    assert short.startswith(f"{dashboard.tenant.stack.collect_url}/l/")
    clicked = call("GET", short, None, {"user-agent": "Mozilla/5.0 Firefox/140.0"})
    assert (clicked.status, clicked.headers["location"]) == (302, "https://shop.example/autumn")

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
    assert dashboard.rows("Browsers") == [["Firefox", "1"]]


def test_a_link_is_changed_and_deleted(dashboard: Dashboard) -> None:
    dashboard.open("links")
    dashboard.press("+ New link")
    dashboard.type_into("dialog input[name=name]", "Poster")
    dashboard.type_into("dialog input[name=targetUrl]", "https://shop.example/old")
    dashboard.press("Save", "dialog")
    dashboard.press("Edit", "main")
    dashboard.type_into("dialog input[name=targetUrl]", "https://shop.example/new")
    dashboard.press("Save", "dialog")
    dashboard.until("document.querySelector('main').innerText.includes('shop.example/new')")
    dashboard.press("Edit", "main")
    dashboard.press("Delete", "dialog")
    dashboard.until("location.pathname.endsWith('/links')")
    dashboard.settle()
    assert "Poster" not in dashboard.text("main")
