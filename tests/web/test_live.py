"""The live view: what happened in the last minutes, without loading anew."""

import secrets

import pytest

from schemas.runtime.clock import now_ms
from tests.flow.tenant import Tenant
from tests.web.dashboard import Dashboard

MINUTE_MS = 60_000


LONG = "W" * 250
FEED = "main .card[aria-label='What just happened']"


def view(tenant: Tenant, path: str, name: str = "screen_view") -> None:
    """A page view, or an event, half a minute ago, by a new visitor."""
    item = {
        "name": name,
        "anonymousId": secrets.token_hex(8),
        "sessionId": secrets.token_hex(8),
        "path": f"https://shop.example{path}",
        "timestamp": now_ms() - MINUTE_MS // 2,
    }
    assert tenant.send(item).status == 200


@pytest.fixture
def visited(shop: Tenant) -> Tenant:
    view(shop, "/live")
    return shop


def test_a_page_view_appears_while_the_view_is_open(dashboard: Dashboard, visited: Tenant) -> None:
    dashboard.open("live")
    dashboard.until(
        "document.querySelector('.big') && +document.querySelector('.big').innerText > 0"
    )

    view(visited, "/live-2")

    for card in ("What just happened", "Pages now"):
        dashboard.until(
            f"document.querySelector('main .card[aria-label=\"{card}\"]')"
            "?.innerText.includes('/live-2')"
        )
    pages = {row[0]: row[1] for row in dashboard.rows("Pages now")}
    assert pages["/live-2"] == "1"


def test_a_tagged_visit_is_shown_with_its_source_in_words(
    dashboard: Dashboard, visited: Tenant
) -> None:
    view(visited, "/tagged?utm_source=newsletter")
    dashboard.open("live")
    dashboard.until(f"document.querySelector({FEED!r})?.innerText.includes('Viewed /tagged')")
    dashboard.settle()

    assert ["newsletter", "1"] in dashboard.rows("Sources now")


def test_a_long_event_name_leaves_the_rest_in_sight(dashboard: Dashboard, visited: Tenant) -> None:
    view(visited, "/live", LONG)
    dashboard.open("live")
    frame = f'document.querySelector("{FEED} .feed")'
    dashboard.until(f"{frame}?.innerText.includes({LONG!r})")

    assert dashboard.tab.js(f"{frame}.scrollWidth <= {frame}.clientWidth")
