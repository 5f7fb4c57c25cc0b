"""A website without any event: its script, and numbers as soon as the first event is there."""

import secrets

import pytest

from schemas.runtime.clock import now_ms
from tests.flow.tenant import CHROME_USER_AGENT, DAY, Tenant, at_ms
from tests.http_client import call
from tests.installation import Installation, eventually
from tests.web.dashboard import Dashboard
from tests.web.test_accessibility import PHONE, violations


@pytest.fixture(scope="module")
def shop(stack: Installation) -> Tenant:
    """A tenant of its own, which gets further websites, with one page view."""
    tenant = Tenant.create(stack)
    who = {"anonymousId": "ann", "sessionId": "s-ann", "timestamp": at_ms("10:00:00")}
    assert tenant.send({"name": "screen_view", "path": "/", **who}).status == 200
    eventually(lambda: tenant.rows("summary")[0]["total_events"] == 1, 60)
    return tenant


def test_the_first_event_turns_the_steps_into_numbers(dashboard: Dashboard) -> None:
    website = dashboard.client.create_website("fresh.example")
    dashboard.tab.go(f"{dashboard.url}/{website['id']}/overview")
    dashboard.until("document.querySelector('.arrival')?.innerText.startsWith('Waiting')")
    assert f'data-website-id="{website["id"]}"' in dashboard.text(".snippet pre")
    assert not dashboard.tab.js("!!document.querySelector('main .breakdown')")
    assert violations(dashboard) == []
    dashboard.tab.set_size(PHONE, 740)
    assert dashboard.tab.js("document.documentElement.scrollWidth") <= PHONE
    dashboard.tab.set_size(1280)

    item = {
        "name": "screen_view",
        "anonymousId": secrets.token_hex(8),
        "sessionId": secrets.token_hex(8),
        "path": "https://fresh.example/",
        "timestamp": now_ms() - 1000,
    }
    url = f"{dashboard.tenant.stack.collect_url}/track?website_id={website['id']}"
    headers = {"user-agent": CHROME_USER_AGENT, "content-type": "application/json"}
    assert call("POST", url, item, headers).status == 200
    dashboard.until("document.querySelector('.arrival.received')")
    assert "The first event is here" in dashboard.text(".first-steps")

    dashboard.press("Show the numbers")
    dashboard.until("document.querySelector('.total-value')?.innerText === '1'")


def test_a_website_with_events_before_the_time_range_has_no_first_steps(
    dashboard: Dashboard,
) -> None:
    dashboard.open("overview", period="2020-01-01..2020-01-02")
    dashboard.press("Show that day")
    dashboard.until(f"location.search.includes('period={DAY}..{DAY}')")
    dashboard.until("document.querySelector('.total-value')?.innerText === '1'")
    assert not dashboard.tab.js("!!document.querySelector('.first-steps')")
