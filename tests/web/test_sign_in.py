"""Sign-in on the page: by key, by link, ended here or elsewhere; what a key without scopes sees."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.registry import KeyScope, RegistryStore, validation
from schemas.runtime.clock import now_ms
from tests.browser.chromium import Chromium
from tests.browser.conftest import USUAL_FLAGS
from tests.browser.tab import Tab
from tests.flow.tenant import Tenant
from tests.installation import eventually
from tests.web.dashboard import Dashboard

REFUSED = "Failed to load resource: the server responded with a status of 401 (Unauthorized)"

NOTE_RETURN = """addEventListener('pageshow', ({ persisted }) => sessionStorage.setItem('returned',
  JSON.stringify([persisted, document.getElementById('app').hidden])))"""
"""Notes whether the browser kept the page, and whether it was hidden when it came back."""


def may_end(chromium: Chromium, tenant: Tenant) -> Iterator[Dashboard]:
    """A dashboard whose sign-in may end; for fixtures."""
    tab = Tab.opened(chromium)
    dashboard = Dashboard(tab, tenant)
    dashboard.sign_in()
    dashboard.until("document.querySelector('.totals')")
    yield dashboard
    dashboard.check_tab(expected=[REFUSED])
    tab.close()


@pytest.fixture
def signed_in(chromium: Chromium, small: Tenant) -> Iterator[Dashboard]:
    """The dashboard of the small tenant, whose sign-in may end."""
    yield from may_end(chromium, small)


@pytest.fixture
def returning(tmp_path: Path, small: Tenant) -> Iterator[Dashboard]:
    """The same in the whole browser, which keeps pages to go back to."""
    with Chromium(tmp_path, *USUAL_FLAGS) as whole:
        yield from may_end(whole, small)


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
    stranger.type_key()
    stranger.until("document.querySelector('.totals')")
    assert stranger.path == f"/{stranger.tenant.website.id}/overview"


def test_without_a_sign_in_nothing_is_refused_before_the_key_is_typed(
    stranger: Dashboard,
) -> None:
    stranger.tab.go(f"{stranger.url}/{stranger.tenant.website.id}/overview")
    stranger.until("document.querySelector('input[name=key]')")
    stranger.check_tab()
    asked = [url for _, url in stranger.tab.requests if "/v1/" in url]
    assert asked == [f"{stranger.url}/v1/sign-in"]  # how people sign in


def test_a_wrong_key_is_refused_in_words(stranger: Dashboard) -> None:
    stranger.sign_in("tm_wrong")
    assert stranger.text(".error") == "This key is unknown, revoked or expired."
    stranger.check_tab()


def test_a_sign_in_that_ended_asks_again_and_keeps_the_address(stranger: Dashboard) -> None:
    stranger.sign_in()
    stranger.until("document.querySelector('.totals')")
    stranger.tab.set_size(1440, 900)  # a smaller window has the navigation in a menu
    stranger.tab.tell("Network.clearBrowserCookies")
    stranger.press("Live", "nav")
    assert "Your sign-in has ended" in stranger.text(".notice")
    stranger.type_key()
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
    stranger.check_tab()


def test_a_key_without_the_scope_is_told_which_one_is_missing(stranger: Dashboard) -> None:
    _, text = new_key(stranger.tenant, KeyScope.TRACK_EVENTS)
    stranger.sign_in(text)
    stranger.until("document.querySelector('main .empty, .error')")
    assert "read:data" in stranger.text("main")


def test_signing_out_ends_it(stranger: Dashboard) -> None:
    stranger.sign_in()
    stranger.press("Menu")
    stranger.press("Sign out")
    stranger.until("location.pathname === '/sign-in'")
    stranger.tab.go(f"{stranger.url}/{stranger.tenant.website.id}/overview")
    stranger.until("document.querySelector('input[name=key]')")


@pytest.mark.parametrize("ended", [True, False])
def test_going_back_shows_only_a_page_whose_sign_in_is_the_same(
    returning: Dashboard, ended: bool
) -> None:
    returning.tab.js(f"{NOTE_RETURN}, window.kept = true")
    returning.tab.go(f"{returning.url}/docs")
    if ended:
        returning.tab.tell("Network.clearBrowserCookies")
    returning.tab.back()
    returning.until(f"document.querySelector('{'input[name=key]' if ended else '.totals'}')")
    returning.until("!document.getElementById('app').hidden")
    assert returning.tab.js("sessionStorage.getItem('returned')") == "[true,true]"
    assert returning.tab.js("window.kept === true") is not ended


def test_signing_out_ends_it_in_other_tabs_too(signed_in: Dashboard) -> None:
    tab = signed_in.tab.beside()
    other = Dashboard(tab, signed_in.tenant)
    other.open("overview")
    signed_in.press("Menu")
    signed_in.press("Sign out")
    other.until("document.querySelector('input[name=key]')")
    assert not tab.js("!!document.querySelector('.totals')")
    other.check_tab(expected=[REFUSED])
    tab.close()


def test_a_link_asks_before_it_replaces_a_sign_in(signed_in: Dashboard) -> None:
    key_id, _ = new_key(signed_in.tenant, KeyScope.READ_DATA)
    link = printed_link(signed_in.tenant, key_id)
    first = signed_in.tab.js("fetch('/v1/me').then((answer) => answer.json())")["key"]["id"]
    for button, signed_in_key in (("Stay signed in", first), ("Use the link", key_id)):
        signed_in.tab.go(link)
        assert "You are signed in to Acme" in signed_in.text(".replace")
        assert "#" not in signed_in.tab.address
        signed_in.press(button)
        signed_in.until("document.querySelector('.totals')")
        me = signed_in.tab.js("fetch('/v1/me').then((answer) => answer.json())")
        assert me["key"]["id"] == signed_in_key
