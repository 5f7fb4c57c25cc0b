"""Sign-in on the page by an identity provider, and behind a proxy that signs people in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import DAY, Tenant
from tests.installation import free_port
from tests.query.lake import a_view
from tests.query.sign_in.identity_provider import CLIENT_ID, CLIENT_SECRET, running_provider
from tests.web.dashboard import Dashboard
from tests.web.query_alone import query_alone
from tests.web.test_people import REFUSED, invited, office_of, views

ADA, EVE = "ada@shop.example", "eve@elsewhere.example"
EMAIL_HEADER = "X-Forwarded-Email"
PEOPLE = {
    "ada": {"email": ADA, "email_verified": True, "name": "Ada"},
    "eve": {"email": EVE, "email_verified": True, "name": "Eve"},
}


@pytest.fixture(scope="module")
def with_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """A tenant whose people sign in with an identity provider; Ada is invited."""
    folder = tmp_path_factory.mktemp("provider")
    secret = folder / "client-secret"
    secret.write_text(CLIENT_SECRET)
    port = free_port()
    callback = f"http://127.0.0.1:{port}/v1/sign-in/oidc/callback"
    with (
        running_provider(PEOPLE, callback) as provider,
        query_alone(
            folder / "data",
            [a_view("/", at=f"{DAY}T10:00:00Z")],
            query_port=port,
            oidc_issuer=provider.issuer,
            oidc_client_id=CLIENT_ID,
            oidc_client_secret_file=str(secret),
            oidc_name="Harbor ID",
        ) as tenant,
    ):
        office = office_of(tenant)
        invited(office, ADA, role="viewer")
        yield office


@pytest.fixture
def stranger(chromium: Chromium, with_provider: Tenant) -> Iterator[Dashboard]:
    """A browser without any sign-in; it leaves for the provider, whose pages are not checked."""
    tab = Tab.opened(chromium)
    yield Dashboard(tab, with_provider)
    tab.close()


def sign_in_with_provider(dashboard: Dashboard, login: str) -> None:
    """Fill in the forms of the provider, as a person does who is not signed in there."""
    dashboard.press("Continue with Harbor ID")
    dashboard.type_into("input[name=login]", login)
    dashboard.type_into("input[name=password]", "any")
    dashboard.tab.js("document.querySelector('form').submit()")
    dashboard.until("document.querySelector('input[name=prompt][value=consent]')")
    dashboard.tab.js("document.querySelector('form').submit()")


def test_a_provider_signs_in_and_leads_back_to_the_view(stranger: Dashboard) -> None:
    stranger.tab.go(f"{stranger.url}/shop/live")
    sign_in_with_provider(stranger, "ada")
    stranger.until("document.querySelector('.live-now')")
    assert stranger.path == "/shop/live"
    stranger.tab.go(f"{stranger.url}/account")
    stranger.settle()
    assert stranger.tab.js("document.querySelector('input[name=email]').value") == ADA
    [[browser, _, way, *_]] = stranger.rows("Where you are signed in")
    assert "this one" in browser
    assert way == "another service"


def test_whoever_is_not_invited_is_told_what_to_do(stranger: Dashboard) -> None:
    stranger.tab.go(f"{stranger.url}/shop/live")
    sign_in_with_provider(stranger, "eve")
    assert "ask an admin of your organization to invite" in stranger.text(".error")
    assert stranger.path == "/sign-in"


def test_behind_a_proxy_the_page_signs_in_by_itself_but_not_after_signing_out(
    chromium: Chromium, tmp_path: Path
) -> None:
    settings = {"proxy_email_header": EMAIL_HEADER, "proxy_networks": "127.0.0.1"}
    view = a_view("/", at=f"{DAY}T10:00:00Z")
    with query_alone(tmp_path, [view], **settings) as tenant:
        tab = Tab.opened(chromium)
        dashboard = Dashboard(tab, office_of(tenant))
        invited(dashboard.tenant, ADA, role="viewer")
        tab.tell("Network.setExtraHTTPHeaders", headers={EMAIL_HEADER: ADA})
        dashboard.tab.go(f"{dashboard.url}/shop/overview")
        dashboard.until("document.querySelector('.totals')")
        assert "Set-up" not in views(dashboard)
        dashboard.press("Menu", "header.rail")
        dashboard.press("Sign out")
        dashboard.press("Continue with the sign-in of your network")
        dashboard.until("document.querySelector('.totals')")
        dashboard.check_tab(expected=REFUSED)  # of requests on their way when it signed out

        tab.tell("Network.clearBrowserCookies")
        tab.tell("Network.setExtraHTTPHeaders", headers={EMAIL_HEADER: EVE})
        dashboard.tab.go(f"{dashboard.url}/shop/overview")
        assert "ask an admin of your organization" in dashboard.text(".error")
        tab.close()
