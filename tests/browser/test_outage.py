"""What the tracker could not send while Kafka was away comes with a later page of the tab."""

import os
import signal
from collections import Counter

import pytest

from tests.browser.tab import Tab
from tests.browser.tracked_website import EXIT, VIEW, TrackedWebsite
from tests.installation import Installation, eventually


def statuses(page: Tab) -> list[int]:
    """Of the requests with items, in order."""
    return [status for status, _ in page.received("/track")]


@pytest.mark.long
def test_five_pages_of_an_outage_are_counted_once(
    stack: Installation, tracked: TrackedWebsite, page: Tab
) -> None:
    broker = stack.signal("broker", signal.SIGSTOP)
    try:
        for number in range(1, 6):
            before = len(statuses(page))
            page.go(tracked.add_page(f"/outage/{number}", tracked.tag()))
            eventually(lambda before=before: len(statuses(page)) > before)  # type: ignore[misc]
    finally:
        os.kill(broker, signal.SIGCONT)
    page.go(tracked.add_page("/outage/over", tracked.tag()))
    eventually(lambda: statuses(page)[-1] == 200)
    unsent = page.js("sessionStorage.length")
    page.leave()

    places = [*(f"/outage/{number}" for number in range(1, 6)), "/outage/over"]
    found = tracked.stored("/outage", 12, "name", "path")
    assert Counter(found) == {(name, place): 1 for place in places for name in (VIEW, EXIT)}
    assert set(statuses(page)[:5]) == {503}
    assert unsent == 0


FAILING = """<script>
  const real = fetch;
  window.failing = true;
  window.fetch = (...request) => failing ? Promise.reject(new TypeError("away")) : real(...request);
  navigator.sendBeacon = (...request) => true;
</script>"""
"""A page whose requests do not arrive, and whose beacons say nothing of it."""


def failed_page(tracked: TrackedWebsite, page: Tab, place: str, more: str = "") -> None:
    """Open a page whose first request fails."""
    page.go(tracked.add_page(place, FAILING, tracked.tag(more)))
    page.js("new Promise((done) => setTimeout(done, 1200))")


def kept(page: Tab) -> str:
    return str(page.js("Object.values(sessionStorage).join()"))


def test_what_is_kept_is_bounded_and_the_newest(tracked: TrackedWebsite, page: Tab) -> None:
    failed_page(tracked, page, "/bounded")
    page.js(
        """for (let n = 0; n < 300; n++) tidemark("event", "e" + n, { text: "x".repeat(900) })"""
    )
    page.js("dispatchEvent(new Event('pagehide'))")

    assert 90_000 < len(kept(page)) <= 100_000
    assert '"e299"' in kept(page)
    assert '"e0"' not in kept(page)


def test_what_is_older_than_a_day_is_not_sent(tracked: TrackedWebsite, page: Tab) -> None:
    failed_page(tracked, page, "/aged/1")
    page.js("""tidemark("event", "old"), tidemark("event", "new")""")
    page.js("dispatchEvent(new Event('pagehide'))")
    page.js("""for (const key in {...sessionStorage}) {
        const items = JSON.parse(sessionStorage[key]);
        for (const item of items) if (item.name != "new") item.timestamp -= 864e5;
        sessionStorage[key] = JSON.stringify(items);
    }""")
    page.before_each("navigator.sendBeacon = () => true")
    page.go(tracked.add_page("/aged/2", tracked.tag()))

    names = tracked.stored("/aged", 2, "name")
    assert sorted(names) == ["new", VIEW]


def test_a_page_that_was_hidden_sends_its_items_when_it_can_again(
    tracked: TrackedWebsite, page: Tab
) -> None:
    failed_page(tracked, page, "/hidden")
    page.js("""tidemark("event", "before"), dispatchEvent(new Event("pagehide"))""")
    page.js("""failing = false, tidemark("event", "after")""")

    names = tracked.stored("/hidden", 4, "name")
    assert sorted(names) == ["after", "before", EXIT, VIEW]
    assert kept(page) == ""


def test_nothing_is_kept_of_who_opts_out(tracked: TrackedWebsite, page: Tab) -> None:
    failed_page(tracked, page, "/opted")
    page.js("""tidemark("optout"), dispatchEvent(new Event("pagehide"))""")

    assert kept(page) == ""
