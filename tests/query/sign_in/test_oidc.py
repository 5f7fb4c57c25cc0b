"""Single sign-on: to a real identity provider and back, and what is refused on the way."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies
from query.resources.oidc import NOT_SET_UP, oidc_endpoints
from query.sign_in import oidc_provider
from query.sign_in.identity import Identity, Problem
from query.sign_in.oidc import local_path
from query.sign_in.oidc_provider import InvalidResponse, parse_metadata
from schemas.errors import Unavailable
from schemas.registry.signed_tokens import SignedToken, TokenKind, sign, verify
from tests.asgi_client import request_once
from tests.http_client import Reply
from tests.installation import free_port
from tests.query.query_service import NOW, InProcessService, start_service
from tests.query.sign_in.forging_provider import (
    NEW_KEY,
    OTHER_KEY,
    SHARED_SECRET,
    ForgingProvider,
    forging_provider,
)
from tests.query.sign_in.identity_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    RunningProvider,
    running_provider,
)

PUBLIC_URL = "https://stats.example"
BEGIN, CALLBACK = "/v1/sign-in/oidc", "/v1/sign-in/oidc/callback"
COOKIE = "__Host-tidemark_oidc"
SIGNED_IN = "session=of-ada; Path=/"
PEOPLE: Mapping[str, Any] = {
    "ada": {
        "email": "Ada@Shop.example",
        "email_verified": True,
        "name": "Ada Lovelace",
        "groups": ["analysts", "staff"],
        "realm_access": {"roles": ["analysts"]},
    },
    "eve": {"email": "ada@shop.example", "email_verified": False, "name": "Eve"},
    "nobody": {"name": "No Address"},
}
ADA = Identity("ada@shop.example", "Ada Lovelace", ["analysts", "staff"], "oidc")


class Accounts(Struct):
    """The end of single sign-on: it remembers who came, and signs them in."""

    identities: list[Identity] = field(default_factory=list)
    problem: Problem | Exception | None = None

    async def sign_in_by_email(
        self, _dependencies: QueryDependencies, _request: Request, response: Response, who: Identity
    ) -> Problem | None:
        self.identities.append(who)
        response.headers.append("set-cookie", SIGNED_IN)
        if isinstance(self.problem, Exception):
            raise self.problem
        return self.problem


class Browser(Struct):
    """It follows no redirect by itself, and keeps the cookie of single sign-on."""

    service: InProcessService
    accounts: Accounts
    cookie: str = ""
    last_set: str = ""
    """What the last answer set."""

    def get(self, url: str, **headers: str) -> Reply:
        """One request; the URL may have an origin."""
        target = urlsplit(url)
        path = target.path + (f"?{target.query}" if target.query else "")
        sent = {"host": "stats.example", **headers}
        if self.cookie:
            sent["cookie"] = f"other=1; {self.cookie}"
        reply = request_once(self.service.app, "GET", path, None, sent)
        self.last_set = reply.headers.get("set-cookie", "")
        for line in self.last_set.split("\n"):
            pair, _, attributes = line.partition("; ")
            if "tidemark_oidc=" in pair:
                self.cookie = "" if "Max-Age=0" in attributes else pair
        return reply

    def begin(self, to: str | None = None) -> str:
        """Begin; the address of the provider."""
        return self.get(BEGIN + (f"?{urlencode({'to': to})}" if to else "")).headers["location"]

    def end(self, url: str) -> str:
        """Return from the provider; where this leads to."""
        reply = self.get(url)
        assert reply.status == 302, reply.json
        return reply.headers["location"]


def new_browser(folder: Path, issuer: str, **settings: Any) -> Browser:
    """A browser, with a service of its own."""
    secret = folder / "client-secret"
    secret.write_text(f"{CLIENT_SECRET}\n")
    accounts = Accounts()
    options: dict[str, Any] = {
        "oidc_issuer": issuer,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret_file": str(secret),
        "oidc_organization": "acme",
        "oidc_group_roles": "analysts=analyst",
        "query_url": PUBLIC_URL,
        **settings,
    }
    endpoints = oidc_endpoints(accounts.sign_in_by_email)
    return Browser(start_service(folder / "data", endpoints=endpoints, **options), accounts)


def query_of(url: str) -> Mapping[str, str]:
    """The query string of a URL."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def problem_of(location: str) -> str:
    """The problem with which the sign-in page is shown."""
    assert location.startswith("/sign-in?problem=")
    return location.removeprefix("/sign-in?problem=")


@pytest.fixture(scope="module")
def provider() -> Iterator[RunningProvider]:
    with running_provider(PEOPLE, PUBLIC_URL + CALLBACK) as running:
        yield running


@pytest.fixture
def browser(tmp_path: Path, provider: RunningProvider) -> Browser:
    return new_browser(tmp_path, provider.issuer)


def test_a_person_signs_in_and_is_at_the_page_that_was_asked_for(
    browser: Browser, provider: RunningProvider
) -> None:
    reply = browser.get(f"{BEGIN}?to=/websites/shop%3Fperiod%3D7d")
    cookie, begun = browser.last_set, browser.cookie
    back = provider.sign_in(reply.headers["location"], "ada")
    arrived = browser.get(back)

    assert reply.status == 302
    asked = query_of(reply.headers["location"])
    assert {name: asked[name] for name in asked.keys() - {"state", "nonce", "code_challenge"}} == {
        "response_type": "code",
        "client_id": "tidemark",
        "redirect_uri": "https://stats.example/v1/sign-in/oidc/callback",
        "scope": "openid email profile",
        "code_challenge_method": "S256",
    }
    assert begun.startswith(f"{COOKIE}=")
    assert len(begun) < 1000
    assert sorted(cookie.split("; ")[1:]) == [
        "HttpOnly", "Max-Age=600", "Path=/", "SameSite=lax", "Secure",
    ]  # fmt: skip
    assert (arrived.status, arrived.headers["location"]) == (302, "/websites/shop?period=7d")
    assert arrived.headers["cache-control"] == "no-store"
    assert browser.last_set.split("\n")[0] == SIGNED_IN
    assert browser.last_set.split("\n")[1].startswith(f'{COOKIE}=""; HttpOnly; Max-Age=0; Path=/')
    assert browser.accounts.identities == [ADA]


def test_without_a_public_url_the_browser_returns_to_the_address_that_it_shows(
    tmp_path: Path,
) -> None:
    redirect_uri = f"http://stats.example:4001{CALLBACK}"
    with running_provider(PEOPLE, redirect_uri) as provider:
        browser = new_browser(tmp_path, provider.issuer, query_url="")
        reply = browser.get(BEGIN, host="stats.example:4001")
        back = provider.sign_in(reply.headers["location"], "ada")

        assert "Secure" not in browser.last_set
        assert browser.cookie.startswith("tidemark_oidc=")
        assert back.startswith(redirect_uri)
        assert browser.end(back) == "/"
        assert browser.accounts.identities == [ADA]
        assert browser.get(BEGIN, host="evil.example/path?").status == 400


def test_a_provider_may_send_the_address_at_its_user_info_endpoint_only(tmp_path: Path) -> None:
    with running_provider(PEOPLE, PUBLIC_URL + CALLBACK, id_token_has_all=False) as provider:
        browser = new_browser(tmp_path, provider.issuer + "/")  # with the slash of some providers

        assert browser.end(provider.sign_in(browser.begin(), "ada")) == "/"
        assert browser.accounts.identities == [ADA]


def test_a_person_may_cancel(browser: Browser, provider: RunningProvider) -> None:
    back = provider.cancel(browser.begin("/goals"))

    assert problem_of(browser.end(back)) == "oidc_refused"
    assert browser.accounts.identities == []
    assert browser.cookie == ""


def test_a_return_counts_once(browser: Browser, provider: RunningProvider) -> None:
    """Also where the browser still has the cookie."""
    back = provider.sign_in(browser.begin(), "ada")
    cookie = browser.cookie

    assert browser.end(back) == "/"
    assert problem_of(browser.end(back)) == "oidc_expired"
    browser.cookie = cookie
    assert problem_of(browser.end(back)) == "oidc_expired"
    assert browser.accounts.identities == [ADA]


def test_a_return_counts_in_the_browser_that_began(
    browser: Browser, provider: RunningProvider
) -> None:
    """A link with a code of somebody else must not sign a browser in as that person."""
    victim = Browser(browser.service, browser.accounts)
    back = provider.sign_in(browser.begin(), "ada")

    assert problem_of(victim.end(back)) == "oidc_expired"
    victim.begin()
    assert problem_of(victim.end(back)) == "oidc_expired"
    assert browser.accounts.identities == []
    assert browser.end(back) == "/"


def test_a_code_of_another_browser_is_refused_by_the_provider(
    browser: Browser, provider: RunningProvider
) -> None:
    """PKCE: the code needs the verifier of the browser that began."""
    code = query_of(provider.sign_in(browser.begin(), "ada"))["code"]
    other = Browser(browser.service, browser.accounts)
    state = query_of(other.begin())["state"]

    back = f"{CALLBACK}?{urlencode({'state': state, 'code': code})}"

    assert problem_of(other.end(back)) == "oidc_refused"
    assert browser.accounts.identities == []


@pytest.mark.parametrize("change", ["old", "another kind", "another page", "another secret", "cut"])
def test_a_cookie_that_is_not_ours_as_it_was_ends_nothing(
    browser: Browser, provider: RunningProvider, change: str
) -> None:
    back = provider.sign_in(browser.begin("/goals"), "ada")
    name, _, value = browser.cookie.partition("=")
    payload, _, text = value.partition(".")
    secret = browser.service.store.sign_ins().read(NOW).secret
    token = verify(text, TokenKind.OIDC, secret, NOW)
    assert token is not None
    assert token.ends_at == NOW + 600_000
    changed = {
        "old": f"{payload}.{sign(SignedToken(token.kind, token.id, token.subject, NOW), secret)}",
        "another kind": f"{payload}."
        + sign(SignedToken(TokenKind.SESSION, token.id, token.subject, token.ends_at), secret),
        "another page": f"{payload[:-4]}AAAA.{text}",
        "another secret": f"{payload}.{sign(token, b'another')}",
        "cut": payload,
    }

    browser.cookie = f"{name}={changed[change]}"

    assert problem_of(browser.end(back)) == "oidc_expired"
    assert browser.accounts.identities == []


@pytest.mark.parametrize("query", ["", "?state=", "?code=x", "?error=access_denied"])
def test_a_return_without_its_state_has_expired(browser: Browser, query: str) -> None:
    browser.begin()

    assert problem_of(browser.end(CALLBACK + query)) == "oidc_expired"


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        ("access_denied", "oidc_refused"),
        ("invalid_scope", "oidc_refused"),
        ("server_error", "oidc_unavailable"),
        ("temporarily_unavailable", "oidc_unavailable"),
        ("<script>\n", "oidc_refused"),
    ],
)
def test_an_error_of_the_provider_is_a_problem_of_ours(
    browser: Browser, error: str, problem: str
) -> None:
    state = query_of(browser.begin())["state"]

    assert (
        problem_of(browser.end(f"{CALLBACK}?{urlencode({'state': state, 'error': error})}"))
        == problem
    )


@pytest.mark.parametrize("login", ["eve", "nobody"])
def test_an_address_that_is_not_verified_signs_nobody_in(
    browser: Browser, provider: RunningProvider, login: str
) -> None:
    assert problem_of(browser.end(provider.sign_in(browser.begin(), login))) == "oidc_unverified"
    assert browser.accounts.identities == []


def test_the_operator_may_trust_every_address_of_the_provider(
    tmp_path: Path, provider: RunningProvider
) -> None:
    browser = new_browser(tmp_path, provider.issuer, oidc_trusts_email=True)

    assert browser.end(provider.sign_in(browser.begin(), "eve")) == "/"
    assert browser.accounts.identities == [Identity("ada@shop.example", "Eve", [], "oidc")]


@pytest.mark.parametrize(
    ("outcome", "problem"),
    [
        (Problem.NO_ACCESS, "oidc_no_access"),
        (Unavailable("The registry cannot be reached"), "oidc_unavailable"),
    ],
)
def test_a_person_without_access_gets_no_cookie(
    browser: Browser, provider: RunningProvider, outcome: Problem | Exception, problem: str
) -> None:
    browser.accounts.problem = outcome

    assert problem_of(browser.end(provider.sign_in(browser.begin(), "ada"))) == problem
    assert SIGNED_IN not in browser.last_set


def test_the_service_starts_while_the_provider_is_away(tmp_path: Path) -> None:
    browser = new_browser(tmp_path, f"http://127.0.0.1:{free_port()}")

    assert problem_of(browser.begin()) == "oidc_unavailable"
    assert browser.cookie == ""


def test_without_an_issuer_there_is_no_single_sign_on(tmp_path: Path) -> None:
    options = {"oidc_client_id": "", "oidc_client_secret_file": ""}
    browser = new_browser(tmp_path, "", **options)

    for path in (BEGIN, CALLBACK):
        assert browser.get(path).json == {
            "success": False,
            "error": NOT_SET_UP,
            "code": "NOT_FOUND",
        }


def test_no_secret_is_logged(
    browser: Browser, provider: RunningProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even with the debug records of the libraries, and when a return is refused."""
    caplog.set_level(logging.DEBUG)
    url = browser.begin()
    begun, cookie = logged(caplog), browser.cookie
    back = provider.sign_in(url, "ada")
    caplog.clear()
    browser.end(back)
    browser.cookie = cookie
    browser.end(back)

    asked, came = query_of(url), query_of(back)
    secrets = [cookie, asked["state"], asked["nonce"], came["code"], CLIENT_SECRET, "Ada@"]
    assert [secret for secret in secrets if secret in begun + logged(caplog)] == []


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """All that was logged, with the fields."""
    return "\n".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)


@pytest.mark.parametrize(
    ("to", "page"),
    [
        ("/", "/"),
        ("/websites/shop?period=7d#goals", "/websites/shop?period=7d#goals"),
        (None, "/"),
        ("", "/"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example/", "/"),
        ("\\\\evil.example", "/"),
        ("/\t/evil.example/", "/"),
        ("/\n//evil.example/", "/"),
        (" //evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("evil.example", "/"),
        ("/goals\r\nSet-Cookie: a=b", "/"),
        ("/goals ", "/"),
        ("/ä", "/"),
        ("/" + "a" * 499, "/" + "a" * 499),
        ("/" + "a" * 500, "/"),
    ],
)
def test_only_a_page_of_ours_is_shown_afterwards(to: str | None, page: str) -> None:
    assert local_path(to) == page


@pytest.mark.parametrize(
    "to", ["//evil.example", "https://evil.example", "/%5Cevil.example", "/%09/evil"]
)
def test_no_address_of_another_site_is_redirected_to(
    browser: Browser, provider: RunningProvider, to: str
) -> None:
    url = browser.get(f"{BEGIN}?to={to}").headers["location"]

    assert browser.end(provider.sign_in(url, "ada")) == "/"


# A provider, or somebody between it and us, that lies.


@pytest.fixture
def forger() -> Iterator[ForgingProvider]:
    with forging_provider() as running:
        yield running


def returned(browser: Browser, forger: ForgingProvider) -> str:
    """Where a sign-in with the forger's token leads to."""
    asked = query_of(browser.begin())
    if "problem" in asked:
        return f"/sign-in?{urlencode(asked)}"
    forger.nonce = asked["nonce"]
    return browser.end(f"{CALLBACK}?{urlencode({'state': asked['state'], 'code': 'c0de'})}")


def test_a_good_token_of_the_forger_signs_in(tmp_path: Path, forger: ForgingProvider) -> None:
    browser = new_browser(tmp_path, forger.issuer)

    assert returned(browser, forger) == "/"
    assert browser.accounts.identities == [Identity("ada@shop.example", "", [], "oidc")]


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"iss": "https://accounts.google.com"},
        {"iss": None},
        {"aud": "another client"},
        {"aud": ["another client", "and one more"], "azp": CLIENT_ID},
        {"aud": [CLIENT_ID, "another client"], "azp": "another client"},
        {"aud": None},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"exp": "tomorrow"},
        {"nbf": 4_000_000_000},
        {"iat": 4_000_000_000},
        {"sub": None},
        {"at_hash": "of another token"},
    ],
    ids=str,
)
def test_an_id_token_that_is_not_for_this_sign_in_is_refused(
    tmp_path: Path, forger: ForgingProvider, claims: dict[str, Any]
) -> None:
    browser = new_browser(tmp_path, forger.issuer)
    forger.claims = claims

    assert problem_of(returned(browser, forger)) == "oidc_refused"
    assert browser.accounts.identities == []


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ({"alg": "RS256", "kid": "first"}, OTHER_KEY),
        ({"alg": "RS256", "kid": "unknown"}, OTHER_KEY),
        ({"alg": "HS256", "kid": "first"}, SHARED_SECRET),
    ],
    ids=["another key", "an unknown key", "the client's secret"],
)
def test_a_signature_that_is_not_the_providers_is_refused(
    tmp_path: Path, forger: ForgingProvider, header: dict[str, Any], key: Any
) -> None:
    browser = new_browser(tmp_path, forger.issuer)
    forger.header, forger.signing_key = header, key

    assert problem_of(returned(browser, forger)) == "oidc_refused"


def test_a_token_without_a_signature_is_refused(tmp_path: Path, forger: ForgingProvider) -> None:
    browser = new_browser(tmp_path, forger.issuer)
    forger.is_signed = False

    assert problem_of(returned(browser, forger)) == "oidc_refused"


def test_a_new_key_of_the_provider_is_fetched(tmp_path: Path, forger: ForgingProvider) -> None:
    browser = new_browser(tmp_path, forger.issuer)
    assert returned(browser, forger) == "/"

    forger.signing_key = forger.published_key = NEW_KEY
    forger.header = {"alg": "RS256", "kid": "second"}

    assert returned(browser, forger) == "/"


@pytest.mark.parametrize(
    ("claims", "user_info", "location"),
    [
        ({}, {"sub": "ada"}, "/"),
        ({"email": None}, {"sub": "ada", "email": "bob@shop.example", "email_verified": True}, "/"),
        ({"email": None}, {"sub": "bob", "email": "b@b.ex"}, "/sign-in?problem=oidc_unavailable"),
        ({"email": None}, {}, "/sign-in?problem=oidc_unavailable"),
        ({"email": None}, {"sub": "ada", "email": "b@b.ex"}, "/sign-in?problem=oidc_unverified"),
        (
            {"email_verified": None, "groups": None},
            {"sub": "ada", "email": "bob@shop.example", "email_verified": True},
            "/sign-in?problem=oidc_unverified",
        ),
        ({"email": ["ada@shop.example"]}, {}, "/sign-in?problem=oidc_unverified"),
        ({"email": "ada@shop.example,eve@evil.example"}, {}, "/sign-in?problem=oidc_unverified"),
        ({"email": "ada"}, {}, "/sign-in?problem=oidc_unverified"),
        ({"email": "ada@shop.example\n"}, {}, "/sign-in?problem=oidc_unverified"),
        ({"email": "mi\u212ae@shop.example"}, {}, "/sign-in?problem=oidc_unverified"),
        ({"email_verified": "true"}, {}, "/"),
        ({"email_verified": "false"}, {}, "/sign-in?problem=oidc_unverified"),
        ({"email_verified": 1}, {}, "/sign-in?problem=oidc_unverified"),
        ({"email_verified": None}, {}, "/sign-in?problem=oidc_unverified"),
    ],
    ids=str,
)  # fmt: skip
def test_the_address_is_one_that_the_provider_verified(
    tmp_path: Path,
    forger: ForgingProvider,
    claims: dict[str, Any],
    user_info: dict[str, Any],
    location: str,
) -> None:
    browser = new_browser(tmp_path, forger.issuer)
    forger.claims, forger.user_info = claims, user_info

    assert returned(browser, forger) == location


@pytest.mark.parametrize(
    ("claim", "value", "groups"),
    [
        ("groups", ["a", "b"], ["a", "b"]),
        ("groups", "a b", ["a b"]),
        ("groups", ["a", 1, None, {"b": 1}], ["a"]),
        ("groups", {"a": 1}, []),
        ("realm_access", {"roles": ["a"]}, []),
        ("https://shop.example/groups", ["a"], []),
    ],
)
def test_groups_are_the_texts_of_the_claim(
    tmp_path: Path, forger: ForgingProvider, claim: str, value: object, groups: Sequence[str]
) -> None:
    browser = new_browser(tmp_path, forger.issuer)
    forger.claims = {"groups": [], claim: value}

    assert returned(browser, forger) == "/"
    assert [identity.groups for identity in browser.accounts.identities] == [groups]


@pytest.mark.parametrize(
    ("path", "claims"),
    [
        ("realm_access.roles", {"realm_access": {"roles": ["a", "b"]}}),
        ("https://shop.example/groups", {"https://shop.example/groups": ["a", "b"]}),
    ],
)
def test_the_claim_of_groups_may_be_nested_or_a_url(
    tmp_path: Path, forger: ForgingProvider, path: str, claims: dict[str, Any]
) -> None:
    browser = new_browser(tmp_path, forger.issuer, oidc_groups_claim=path)
    forger.claims = claims

    assert returned(browser, forger) == "/"
    assert browser.accounts.identities[0].groups == ["a", "b"]


def test_where_no_group_gives_a_role_none_is_read(tmp_path: Path, forger: ForgingProvider) -> None:
    browser = new_browser(tmp_path, forger.issuer, oidc_group_roles="")
    forger.claims = {"groups": None, "": ["a"]}
    forger.answers["/me"] = 500, b""

    assert returned(browser, forger) == "/"
    assert browser.accounts.identities[0].groups == []


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://accounts.google.com"},
        {"issuer": "https://login.microsoftonline.com/{tenantid}/v2.0"},
        {"token_endpoint": None},
        {"jwks_uri": 1},
    ],
    ids=str,
)
def test_metadata_of_another_issuer_is_not_used(
    tmp_path: Path, forger: ForgingProvider, metadata: dict[str, Any]
) -> None:
    browser = new_browser(tmp_path, forger.issuer)
    forger.metadata = metadata

    assert problem_of(browser.begin()) == "oidc_unavailable"
    forger.metadata = {}
    assert returned(browser, forger) == "/", "it is asked again"


def test_metadata_is_read_again_when_it_is_old(
    tmp_path: Path, forger: ForgingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = new_browser(tmp_path, forger.issuer)
    assert returned(browser, forger) == "/"
    forger.metadata = {"token_endpoint": f"{forger.issuer}/moved"}

    assert returned(browser, forger) == "/"
    monkeypatch.setattr(oidc_provider, "METADATA_SECONDS", -1.0)
    assert query_of(browser.begin())["state"]
    forger.answers["/moved"] = 400, b'{"error": "invalid_grant"}'
    assert problem_of(returned(browser, forger)) == "oidc_refused"


def test_a_provider_over_https_has_no_endpoint_without() -> None:
    metadata = {
        "issuer": "https://id.example/",
        "authorization_endpoint": "https://id.example/auth",
        "token_endpoint": "https://id.example/token",
        "jwks_uri": "https://id.example/jwks",
    }
    bad = {"token_endpoint": "http://id.example/token"}

    assert parse_metadata(json.dumps(metadata).encode(), "https://id.example")
    with pytest.raises(InvalidResponse, match="token_endpoint is not reached by https"):
        parse_metadata(json.dumps(metadata | bad).encode(), "https://id.example")


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/jwks"])
def test_a_provider_that_does_not_respond_is_away(
    tmp_path: Path, forger: ForgingProvider, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(oidc_provider, "TIMEOUT_SECONDS", 0.3)
    browser = new_browser(tmp_path, forger.issuer)
    forger.silent_path = path

    assert problem_of(returned(browser, forger)) == "oidc_unavailable"


@pytest.mark.parametrize(
    ("path", "status", "body", "problem"),
    [
        ("/.well-known/openid-configuration", 500, b"", "oidc_unavailable"),
        ("/.well-known/openid-configuration", 302, b"", "oidc_unavailable"),
        ("/.well-known/openid-configuration", 200, b"<html>", "oidc_unavailable"),
        ("/token", 503, b"busy", "oidc_unavailable"),
        ("/token", 200, b"[]", "oidc_unavailable"),
        ("/token", 200, b"{}", "oidc_unavailable"),
        ("/token", 401, b'{"error": "invalid_client"}', "oidc_unavailable"),
        ("/token", 400, b'{"error": "invalid_grant"}', "oidc_refused"),
        ("/token", 200, b'{"id_token": 1, "access_token": "a"}', "oidc_refused"),
        ("/token", 200, b'{"id_token": "a.b.c", "access_token": "a"}', "oidc_refused"),
        ("/jwks", 404, b"", "oidc_unavailable"),
        ("/jwks", 200, b"{}", "oidc_unavailable"),
        ("/jwks", 200, b"[]", "oidc_unavailable"),
        ("/jwks", 200, b'{"keys": []}', "oidc_refused"),
    ],
)
def test_an_answer_that_makes_no_sense_is_a_problem(
    tmp_path: Path, forger: ForgingProvider, path: str, status: int, body: bytes, problem: str
) -> None:
    browser = new_browser(tmp_path, forger.issuer)
    forger.answers[path] = status, body

    assert problem_of(returned(browser, forger)) == problem
    assert browser.accounts.identities == []


def test_the_secret_is_in_the_form_where_the_provider_takes_it_only_there(
    tmp_path: Path, forger: ForgingProvider
) -> None:
    browser = new_browser(tmp_path, forger.issuer)
    forger.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}

    assert returned(browser, forger) == "/"
    form = forger.forms[0]
    assert (form["client_id"], form["client_secret"]) == (CLIENT_ID, CLIENT_SECRET)
    assert form["authorization"] is None
    assert len(form["code_verifier"]) == 48
