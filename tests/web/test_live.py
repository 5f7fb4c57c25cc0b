"""The live view: what happened in the last minutes, without loading anew."""

import secrets

import pytest

from schemas.runtime.clock import now_ms
from tests.flow.tenant import Tenant
from tests.web.dashboard import Dashboard

MINUTE_MS = 60_000


def view(tenant: Tenant, path: str) -> None:
    """A page view half a minute ago, by a new visitor."""
    item = {
        "name": "screen_view",
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

    for card in ("Events as they come", "Pages"):
        dashboard.until(
            f"document.querySelector('main .card[aria-label=\"{card}\"]')"
            "?.innerText.includes('/live-2')"
        )
    pages = {row[0]: row[1] for row in dashboard.rows("Pages")}
    assert pages["/live-2"] == "1"
