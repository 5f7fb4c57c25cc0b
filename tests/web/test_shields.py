"""Shields on the page: made in set-up, with what each kept out; links for one's own visits."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import Tenant, at_ms
from tests.http_client import call
from tests.installation import Installation, eventually
from tests.web.dashboard import Dashboard, signed_in
from tests.web.test_accessibility import violations

TITLE = "Shields"


@pytest.fixture
def page(chromium: Chromium, stack: Installation) -> Iterator[Dashboard]:
    """The dashboard of a tenant without traffic."""
    yield from signed_in(chromium, Tenant.create(stack))


def shields(dashboard: Dashboard) -> list[dict[str, Any]]:
    return list(dashboard.client.saved("shields", dashboard.tenant.website.id))


def test_a_shield_is_made_counts_and_is_deleted(page: Dashboard) -> None:
    page.open("setup", part="shields")
    page.press("Add a shield")
    page.type_into("dialog input[name=name]", "Staging")
    kind = "document.querySelector('dialog select[name=kind]')"
    page.tab.js(f"{kind}.value = 'path'; {kind}.dispatchEvent(new Event('change'))")
    page.type_into("dialog input[name=value]", "/staging/*")
    page.press("Save", "dialog")
    page.until("!document.querySelector('dialog')")
    page.settle()
    nothing = "0 in 30 days, 0 in 7 days, 0 today"
    shown = [row[:4] for row in page.rows(TITLE)]
    assert shown == [["Staging", "Path of the page", "/staging/*", nothing]]
    assert violations(page) == []
    text = page.text("main")
    assert 'javascript:tidemark("optout")' in text
    assert 'javascript:tidemark("optin")' in text

    [shield] = shields(page)
    tenant, event = page.tenant, {"name": "a", "path": "/staging/1", "timestamp": at_ms("10:00:00")}
    query = f"{tenant.stack.query_url}/v1/query/metrics?website_id={tenant.website.id}"
    body = {"metrics": ["dropped"], "dimensions": ["drop_reason"], "preset": "today"}
    reason = f"shield {shield['id']}"

    def dropped() -> int:
        """The worker reads the shield a moment after it was saved."""
        assert tenant.send([event]).status == 200
        rows = call("POST", query, body, {"x-api-key": tenant.key}).json["data"]
        return sum(row["dropped"] for row in rows if row["drop_reason"] == reason)

    eventually(dropped, 30)
    page.open("setup", part="shields")
    counted = json.dumps(nothing)
    page.until(f"document.querySelector('main').innerText.includes('in 30 days')"
               f" && !document.querySelector('main').innerText.includes({counted})")  # fmt: skip

    page.press("Delete Staging")
    page.press("Delete", "dialog form")
    page.until("document.querySelector('main')?.innerText.includes('There is no shield yet')")
    assert shields(page) == []
