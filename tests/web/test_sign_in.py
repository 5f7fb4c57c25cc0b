"""Sign-in on the page: by key, by link, ended; and what a key without scopes sees."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from schemas.registry import KeyScope, RegistryStore, validation
from schemas.runtime.clock import now_ms
from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import Tenant
from tests.installation import eventually
from tests.web.dashboard import Dashboard

REFUSED = "Failed to load resource: the server responded with a status of 401 (Unauthorized)"


@pytest.fixture
def stranger(chromium: Chromium, shop: Tenant) -> Iterator[Dashboard]:
    """The dashboard in a new browser context, not signed in."""
    tab = Tab.opened(chromium)
    dashboard = Dashboard(tab, shop)
    yield dashboard
    dashboard.check_tab(expected=[REFUSED])
    tab.close()


def new_key(tenant: Tenant, *scopes: KeyScope) -> tuple[str, str]:
    """Id and text of a new key; the query service knows it."""
    store = RegistryStore(tenant.stack.settings.registry_url)
    key, text = validation.new_key(tenant.organization.id, list(scopes), now_ms())
    store.create(key)
    store.close()
    eventually(lambda: tenant.ask("summary", key=text).status != 401, 20)
    return key.id, text


def printed_link(tenant: Tenant, key_id: str) -> str:
    """What `tidemark sign-in-link` prints."""
    command = (sys.executable, "-m", "deploy.cli", "sign-in-link", key_id)
    environment = tenant.stack.environment
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_view_asks_for_the_key_first_and_is_shown_after_it(stranger: Dashboard) -> None:
    stranger.tab.go(f"{stranger.url}/{stranger.tenant.website.id}/overview?period=today")
    stranger.type_into("input[name=key]", stranger.tenant.key)
    stranger.press("Sign in")
    stranger.until("document.querySelector('.totals')")
    assert stranger.path == f"/{stranger.tenant.website.id}/overview"


def test_a_wrong_key_is_refused_in_words(stranger: Dashboard) -> None:
    stranger.sign_in("tm_wrong")
    assert stranger.text(".error") == "This key is unknown, revoked or expired."


def test_a_sign_in_that_ended_asks_again_and_keeps_the_address(stranger: Dashboard) -> None:
    stranger.sign_in()
    stranger.until("document.querySelector('.totals')")
    stranger.tab.tell("Network.clearBrowserCookies")
    stranger.press("Live", "nav")
    assert "Your sign-in has ended" in stranger.text(".notice")
    stranger.type_into("input[name=key]", stranger.tenant.key)
    stranger.press("Sign in")
    stranger.until("document.querySelector('.live-now')")
    assert stranger.path.endswith("/live")


def test_a_link_signs_in_once(stranger: Dashboard) -> None:
    key_id, _ = new_key(stranger.tenant, KeyScope.READ_DATA)
    link = printed_link(stranger.tenant, key_id)
    stranger.tab.go(link)
    stranger.until("document.querySelector('.totals')")
    assert "#" not in stranger.tab.address

    stranger.tab.tell("Network.clearBrowserCookies")
    stranger.tab.go("about:blank")
    stranger.tab.go(link)
    assert "used already" in stranger.text(".error")


def test_a_key_without_the_scope_is_told_which_one_is_missing(stranger: Dashboard) -> None:
    _, text = new_key(stranger.tenant, KeyScope.TRACK_EVENTS)
    stranger.sign_in(text)
    stranger.until("document.querySelector('main .empty, .error')")
    assert "read:data" in stranger.text("main")


def test_signing_out_ends_it(stranger: Dashboard) -> None:
    stranger.sign_in()
    stranger.press("Sign out")
    stranger.until("location.pathname === '/sign-in'")
    stranger.tab.go(f"{stranger.url}/{stranger.tenant.website.id}/overview")
    stranger.until("document.querySelector('input[name=key]')")
