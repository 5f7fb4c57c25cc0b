"""People whom an identity provider or a proxy vouches for: who gets in, and as what."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from schemas.registry import Account, Member
from tests.asgi_client import request_once
from tests.http_client import Reply
from tests.query.people import PASSWORD, PersonBrowser, colleague, invited, owner_of, token_of
from tests.query.query_service import NOVEMBER, InProcessService, start_service
from tests.query.sign_in.identity_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    RunningProvider,
    running_provider,
)

PUBLIC_URL = "http://stats.example"
CALLBACK = "/v1/sign-in/oidc/callback"
ADA = "ada@shop.example"
PEOPLE: Mapping[str, Any] = {
    "ada": {"email": ADA, "email_verified": True, "name": "Ada", "groups": ["analysts"]},
    "bob": {"email": "bob@shop.example", "email_verified": True, "name": "Bob"},
    "eve": {"email": "eve@evil.example", "email_verified": True, "name": "Eve"},
}
SUMMARY = {"parameters": ["summary"], **NOVEMBER}
PROXY = "10.0.0.5"


@pytest.fixture(scope="module")
def provider() -> Iterator[RunningProvider]:
    with running_provider(PEOPLE, PUBLIC_URL + CALLBACK) as running:
        yield running


@pytest.fixture
def service(tmp_path: Path, provider: RunningProvider) -> InProcessService:
    secret = tmp_path / "client-secret"
    secret.write_text(CLIENT_SECRET)
    return start_service(
        tmp_path / "data",
        query_url=PUBLIC_URL,
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT_ID,
        oidc_client_secret_file=str(secret),
        oidc_name="Shop staff",
        oidc_organization="acme",
        oidc_group_roles="analysts=analyst",
        oidc_sign_up_domains="shop.example",
        proxy_email_header="X-Forwarded-Email",
        proxy_networks=PROXY,
    )


def by_oidc(service: InProcessService, provider: RunningProvider, login: str) -> PersonBrowser:
    """A browser that went to the provider and back."""
    browser, cookie = PersonBrowser(service), ""

    def get(url: str) -> Reply:
        target = urlsplit(url)
        path = f"{target.path}?{target.query}"
        sent = {"host": "stats.example", "cookie": cookie}
        return request_once(service.app, "GET", path, None, sent)

    begun = get("/v1/sign-in/oidc?to=/shop")
    cookie = begun.headers["set-cookie"].partition(";")[0]
    back = get(provider.sign_in(begun.headers["location"], login))
    for line in back.headers.get("set-cookie", "").split("\n"):
        if line.startswith("tidemark_session="):
            browser.cookie = line.partition(";")[0]
    browser.landed = back.headers["location"]
    return browser


def by_proxy(service: InProcessService, email: str, peer: str = PROXY) -> Reply:
    """Sign in as the proxy says."""
    browser = PersonBrowser(service, address=peer)
    headers = {
        "x-tidemark-request": "1",
        "sec-fetch-site": "same-origin",
        "x-forwarded-email": email,
    }
    return browser.ask("POST", "/v1/sign-in", {"proxy": True}, headers)


def test_the_page_offers_the_ways_that_there_are(service: InProcessService) -> None:
    assert service.ask("GET", "/v1/sign-in", key=None).json == {
        "success": True,
        "password": True,
        "oidc": {"name": "Shop staff", "url": "/v1/sign-in/oidc"},
        "proxy": True,
        "mail": False,
    }


def test_a_group_gives_its_role(service: InProcessService, provider: RunningProvider) -> None:
    browser = by_oidc(service, provider, "ada")

    me = browser.me()
    assert browser.landed == "/shop"
    assert (me["organization"]["id"], me["person"]["role"]) == ("acme", "analyst")
    assert (me["person"]["email"], me["person"]["name"]) == (ADA, "Ada")
    assert browser.ask("POST", "/v1/query?website_id=shop", SUMMARY).status == 200
    (session,) = browser.data("GET", "/v1/account/sessions")
    assert session["way"] == "oidc"
    assert browser.data("GET", "/v1/account")["hasPassword"] is False


def test_people_of_a_domain_join_as_viewers(
    service: InProcessService, provider: RunningProvider
) -> None:
    assert by_oidc(service, provider, "bob").me()["person"]["role"] == "viewer"


def test_others_get_no_access_and_no_account(
    service: InProcessService, provider: RunningProvider
) -> None:
    browser = by_oidc(service, provider, "eve")

    assert (browser.cookie, browser.landed) == (None, "/sign-in?problem=oidc_no_access")
    assert service.store.list(Account, email="eve@evil.example") == []


def test_an_invitation_is_accepted_by_signing_in(
    service: InProcessService, provider: RunningProvider
) -> None:
    owner = owner_of(service)
    link = invited(owner, "eve@evil.example", websiteRoles={"blog": "viewer"})["invitation"]["link"]

    browser = by_oidc(service, provider, "eve")

    assert [website["id"] for website in browser.me()["websites"]] == ["blog"]
    refused = PersonBrowser(service).ask("POST", "/v1/invitations/open", {"token": token_of(link)})
    assert refused.status == 401


def test_the_role_of_groups_holds_from_the_next_sign_in(
    service: InProcessService, provider: RunningProvider
) -> None:
    by_oidc(service, provider, "ada")
    (member,) = service.store.list(Member, email=ADA)
    service.store.update(Member, member.id, 0, role="admin")

    assert by_oidc(service, provider, "ada").me()["person"]["role"] == "analyst"


def test_a_password_that_a_stranger_set_for_an_address_ends_when_its_owner_comes(
    service: InProcessService, provider: RunningProvider
) -> None:
    stranger = colleague(owner_of(service), ADA, role="viewer")

    by_oidc(service, provider, "ada")

    assert stranger.ask("GET", "/v1/me").status == 401
    assert PersonBrowser(service).sign_in_with(ADA, PASSWORD).status == 401


def test_a_proxy_signs_people_in(service: InProcessService) -> None:
    reply = by_proxy(service, "Bob@Shop.example")

    assert (reply.status, reply.json["person"]["email"]) == (200, "bob@shop.example")


@pytest.mark.parametrize(
    ("email", "peer", "status"),
    [
        ("bob@shop.example", "10.0.0.6", 401),
        ("bob@shop.example, eve@evil.example", PROXY, 401),
        ("", PROXY, 401),
        ("eve@evil.example", PROXY, 403),
    ],
)
def test_what_a_proxy_does_not_say_signs_nobody_in(
    service: InProcessService, email: str, peer: str, status: int
) -> None:
    assert by_proxy(service, email, peer).status == status


def test_a_session_of_a_proxy_ends_when_somebody_else_is_there(service: InProcessService) -> None:
    reply = by_proxy(service, "bob@shop.example")
    cookie = reply.headers["set-cookie"].partition(";")[0]
    statuses = []
    for email, peer in (
        ("bob@shop.example", PROXY),
        (ADA, PROXY),
        ("", PROXY),
        ("bob@shop.example", "10.0.0.6"),
    ):
        sent = {"cookie": cookie, "x-forwarded-email": email}
        statuses.append(request_once(service.app, "GET", "/v1/me", None, sent, peer).status)

    assert statuses == [200, 401, 401, 401]


def test_without_passwords_there_is_single_sign_on_only(
    tmp_path: Path, provider: RunningProvider
) -> None:
    service = start_service(tmp_path / "data", password_sign_in=False)
    browser = PersonBrowser(service)

    password = browser.sign_in_with(ADA)
    forgotten = browser.ask("POST", "/v1/sign-in/reset", {"email": ADA})

    assert (password.status, forgotten.status) == (403, 403)
    assert browser.sign_in().status == 200  # an API key, of the operator
