"""The dashboard while the service does not answer: said once, numbers stay, asked again soon."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import Tenant
from tests.web.dashboard import Dashboard

OFFLINE = "Failed to load resource: net::ERR_INTERNET_DISCONNECTED"
ALERTS = "[...document.querySelectorAll('main [role=alert]')].map((each) => each.innerText)"
CARDS = "[...document.querySelectorAll('main .columns .card')].map((each) => each.innerText)"


@pytest.fixture
def cut_off(chromium: Chromium, shop: Tenant) -> Iterator[Dashboard]:
    """A dashboard whose browser may lose its network, which is all that may go wrong in it."""
    dashboard = Dashboard(Tab.opened(chromium), shop)
    dashboard.sign_in()
    yield dashboard
    dashboard.check_tab(expected=[OFFLINE])
    dashboard.tab.close()


def set_offline(dashboard: Dashboard, offline: bool) -> None:
    conditions = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    dashboard.tab.tell("Network.emulateNetworkConditions", offline=offline, **conditions)


def test_known_numbers_stay_and_it_is_said_once(cut_off: Dashboard) -> None:
    cut_off.open("overview")
    before = cut_off.until(CARDS)
    set_offline(cut_off, True)

    cut_off.until("document.querySelector('button.freshness')")
    cut_off.tab.js("document.querySelector('button.freshness').click()")

    [alert] = cut_off.until(f"{ALERTS}.length && {ALERTS}")
    assert alert.startswith("The service does not answer.")
    assert cut_off.tab.js(CARDS) == before
    set_offline(cut_off, False)
    cut_off.until(f"{ALERTS}.length === 0")


def test_a_view_that_is_not_asked_again_is_when_it_was_not_answered(cut_off: Dashboard) -> None:
    cut_off.open("setup", part="websites")
    set_offline(cut_off, True)

    cut_off.press("Imports")
    cut_off.until(f"{ALERTS}.length === 1")
    set_offline(cut_off, False)
    cut_off.until(f"{ALERTS}.length === 0")


def test_a_view_that_was_not_loaded_comes_by_itself(cut_off: Dashboard) -> None:
    cut_off.open("overview")
    set_offline(cut_off, True)

    cut_off.press("Retention")
    cut_off.until(f"{ALERTS}.length === 1")
    set_offline(cut_off, False)
    cut_off.until("document.querySelector('main .retention, main .card')")


def test_what_is_not_known_comes_by_itself(cut_off: Dashboard) -> None:
    cut_off.open("overview")
    set_offline(cut_off, True)

    cut_off.tab.js("history.pushState(null, '', '?period=2019-01-01..2019-01-02')")
    cut_off.tab.js("dispatchEvent(new PopStateEvent('popstate'))")

    cut_off.until(f"{ALERTS}.length === 1")
    cut_off.until(f"{CARDS}.every((text) => text.includes('No answer yet.'))")
    set_offline(cut_off, False)
    cut_off.until(f"{ALERTS}.length === 0 && !{CARDS}.join().includes('No answer yet.')")
