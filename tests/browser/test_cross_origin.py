"""Cross-origin requests of pages, with each way to send that a browser has."""

import json
from urllib.parse import urlencode

import pytest

from tests.browser.tab import Tab
from tests.browser.tracked_website import TrackedWebsite
from tests.installation import eventually

WAYS = {
    "a credentialed fetch after a preflight": "await fetch(to, {method: 'POST', body, "
    "credentials: 'include', headers: {'content-type': 'application/json', 'x-more': '1'}})",
    "a simple fetch": "await fetch(to, {method: 'POST', body})",
    "a fetch that cannot read": "await fetch(to, {method: 'POST', body, mode: 'no-cors'})",
    "a beacon of text": "navigator.sendBeacon(to, body)",
    "a beacon of JSON": "navigator.sendBeacon(to, new Blob([body], {type: 'application/json'}))",
}

LEAVING = {
    "a beacon of text": "navigator.sendBeacon(to, body)",
    "a beacon of JSON": "navigator.sendBeacon(to, new Blob([body], {type: 'application/json'}))",
    "a keepalive fetch": "fetch(to, {method: 'POST', body, keepalive: true, "
    "headers: {'content-type': 'application/json'}})",
}


def sending(tracked: TrackedWebsite, place: str, way: str, how: str) -> str:
    """A function of the page that sends one event, named for the way that it takes."""
    to = f"{tracked.collect_url}/track?website_id={tracked.tenant.website.id}"
    body = json.dumps({"name": way, "path": place})
    return f"async () => {{ const to = {to!r}, body = {body!r}; return {how} }}"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_page_of_another_host_or_port_may_send(
    tracked: TrackedWebsite, page: Tab, host: str
) -> None:
    place = f"/ways/{host}"
    page.go(tracked.add_page(place, host=host))
    for way, how in WAYS.items():
        page.js(f"({sending(tracked, place, way, how)})().then(Boolean)")

    assert set(tracked.stored(place, len(WAYS), "name")) == set(WAYS)
    assert page.complaints == []


def test_a_page_may_read_the_answer_and_its_limits(tracked: TrackedWebsite, page: Tab) -> None:
    page.go(tracked.add_page("/answer"))
    how = "fetch(to, {method: 'POST', body, credentials: 'include'})"

    response = page.js(
        f"({sending(tracked, '/answer', 'read', how)})().then(async (r) => "
        "[r.status, r.headers.get('x-ratelimit-limit') !== null, (await r.json()).count])"
    )

    assert response == [200, True, 1]


def test_what_is_sent_as_the_page_goes_arrives(tracked: TrackedWebsite, page: Tab) -> None:
    for way, how in LEAVING.items():
        page.go(tracked.add_page("/leaving"))
        page.js(f"addEventListener('pagehide', {sending(tracked, '/leaving', way, how)})")
    page.leave()

    assert set(tracked.stored("/leaving", len(LEAVING), "name")) == set(LEAVING)


def test_a_page_without_scripts_is_counted_by_a_picture(tracked: TrackedWebsite, page: Tab) -> None:
    page.tell("Emulation.setScriptExecutionDisabled", value=True)
    event = {
        "client_id": tracked.tenant.website.id,
        "name": "screen_view",
        "eventId": "pixel-1",
        "path": tracked.site.url("/pixel", "localhost"),
    }
    address = f"{tracked.collect_url}/px.jpg?{urlencode(event)}".replace("&", "&amp;")

    page.go(tracked.add_page("/pixel", f'<noscript><img src="{address}" alt=""></noscript>'))

    assert tracked.stored("/pixel", 1, "name", "host") == [("screen_view", "localhost")]
    eventually(lambda: page.received("/px.jpg") == [(200, "image/gif")])
