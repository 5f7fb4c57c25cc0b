"""Sign-in, sign-out and what a sign-in has access to."""

from typing import Any

import pytest

from query.app import create_app
from schemas.registry import KEY_SCOPES, Key
from schemas.registry.signed_tokens import TokenKind, new_token, sign
from schemas.registry.validation import new_key
from schemas.runtime.settings import Settings
from tests.query.query_service import NOVEMBER, NOW, InProcessService
from tests.query.sign_in.browser import OWN_PAGE, Browser

ASKED = {"parameters": ["summary"], **NOVEMBER}
SUMMARY = "/v1/query?website_id=shop"
HALF_A_DAY = 12 * 3_600_000


def key_id(service: InProcessService, key: str = "acme") -> str:
    """The id of a key by its name."""
    return service.keys[key].split("_")[1]


def link_token(service: InProcessService, key: str = "acme", ends_at: int = NOW + 1000) -> str:
    """The token of a sign-in link, as the command line makes it."""
    secret = service.store.sign_ins().read(NOW).secret
    return sign(new_token(TokenKind.SIGN_IN_LINK, key_id(service, key), ends_at), secret)


@pytest.fixture
def service(unused_service: InProcessService) -> InProcessService:
    """Sign-ins are limited."""
    return unused_service


@pytest.fixture
def browser(service: InProcessService) -> Browser:
    return Browser(service)


def test_a_key_signs_in_and_the_cookie_reads(browser: Browser) -> None:
    reply = browser.sign_in()

    assert reply.status == 200, reply.json
    session, signed_in = reply.headers["set-cookie"].split("\n")
    attributes = ["Max-Age=43200", "Path=/", "SameSite=strict"]
    assert session.startswith("tidemark_session=")
    assert sorted(session.split("; ")[1:]) == ["HttpOnly", *attributes]
    assert signed_in.split("; ")[0] == "tidemark_signed_in=1"
    assert sorted(signed_in.split("; ")[1:]) == attributes
    assert reply.headers["cache-control"] == "no-store"
    assert reply.json == {
        "success": True,
        "organization": {"id": "acme", "name": "acme", "hasOwner": False},
        "websites": [
            {
                "id": name,
                "name": "",
                "domain": f"{name}.example",
                "timezone": "UTC",
                "scopes": ["read:data", "read:links", "write:links"],
            }
            for name in ("blog", "shop")
        ],
        "key": {"id": key_id(browser.service), "name": "acme", "websiteId": None},
        "person": None,
        "scopes": ["read:data", "read:links", "write:links"],
        "expires": "2026-11-30T12:53:20.000Z",
        "collectUrl": "http://127.0.0.1:4000",
        "keepBounds": {"minimum": 0, "maximum": 0},
        "mail": False,
        "share": None,
    }
    assert browser.ask("GET", "/v1/me").json == reply.json
    assert browser.ask("POST", SUMMARY, ASKED).status == 200


def test_an_admin_has_every_scope(service: InProcessService) -> None:
    me = service.ask("GET", "/v1/me", key="acme-admin").json

    assert me["scopes"] == list(KEY_SCOPES)


@pytest.mark.parametrize(
    "more", [{"trusted_proxies": "203.0.113.0/24"}, {"query_url": "https://stats.example"}]
)
def test_a_cookie_over_https_is_secure_and_of_this_host(
    service: InProcessService, more: dict[str, Any]
) -> None:
    options = Settings(data_dir=str(service.data), **more)
    behind = create_app(options, service.store, clock=lambda: NOW)
    service.app = behind.app
    https = {**OWN_PAGE, "x-forwarded-proto": "https"}
    browser = Browser(service)

    reply = browser.ask("POST", "/v1/sign-in", {"key": service.keys["acme"]}, https)
    own = str(browser.cookie)
    browser.cookie = f"tidemark_session=of-a-sibling-domain; {own}"
    answers = [browser.ask("GET", "/v1/me", headers=https).status]
    browser.cookie = own.removeprefix("__Host-")  # any host of the domain can set this one
    answers.append(browser.ask("GET", "/v1/me", headers=https).status)
    behind.close()

    assert own.startswith("__Host-tidemark_session=")
    assert {"Secure", "Path=/"} <= set(reply.headers["set-cookie"].split("\n")[0].split("; "))
    assert "Domain" not in reply.headers["set-cookie"]
    assert answers == [200, 401]


def test_a_cookie_that_is_not_ours_does_not_matter_beside_one_that_is(browser: Browser) -> None:
    browser.cookie = "tidemark_session=foreign"
    assert browser.ask("GET", "/v1/me").status == 401

    browser.cookie = None
    browser.sign_in()
    browser.cookie = f"tidemark_session=foreign; {browser.cookie}; tidemark_session=another"

    assert browser.ask("GET", "/v1/me").status == 200


def test_a_key_of_one_website_shows_one(browser: Browser) -> None:
    assert [website["id"] for website in browser.sign_in("acme-shop").json["websites"]] == ["shop"]
    assert browser.ask("POST", SUMMARY, ASKED).status == 200
    assert browser.ask("POST", "/v1/query?website_id=blog", ASKED).status == 403


def test_a_sign_in_has_the_access_of_its_key_only(browser: Browser) -> None:
    browser.sign_in()
    goal = {"name": "a", "event": "b"}

    assert browser.ask("POST", "/v1/query?website_id=rival", ASKED).status == 403
    assert browser.ask("POST", "/v1/goals?website_id=shop", goal).json == {
        "success": False,
        "error": "This key lacks the scope 'write:records' or 'manage:websites'",
        "code": "ACCESS_DENIED",
    }
    browser.sign_in("acme-track")
    assert browser.ask("POST", SUMMARY, ASKED).status == 403


def test_a_wrong_key_is_refused(browser: Browser) -> None:
    reply = browser.ask("POST", "/v1/sign-in", {"key": browser.service.keys["acme"] + "x"})

    assert (reply.status, reply.json["code"]) == (401, "AUTH_REQUIRED")
    assert "set-cookie" not in reply.headers


@pytest.mark.parametrize("body", [{}, {"key": "a", "token": "b"}])
def test_either_a_key_or_a_token_is_given(browser: Browser, body: object) -> None:
    reply = browser.ask("POST", "/v1/sign-in", body)

    assert (reply.status, reply.json["error"]) == (
        400,
        "Give 'email' with 'password', or 'key', an API key, or 'token', that of a sign-in link",
    )


def test_failed_sign_ins_of_a_network_are_limited(browser: Browser) -> None:
    wrong = {"key": "tm_a_b"}
    replies = [browser.ask("POST", "/v1/sign-in", wrong).status for _ in range(11)]

    assert replies == [401] * 10 + [429]
    assert browser.sign_in().status == 200  # a right key, which nobody can guess
    reply = browser.ask("POST", "/v1/sign-in", wrong)
    assert (reply.status, reply.json["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert "failed sign-ins from one network" in reply.json["error"]


def test_a_link_signs_in_once(browser: Browser) -> None:
    body = {"token": link_token(browser.service)}

    assert browser.ask("POST", "/v1/sign-in", body).status == 200
    assert browser.ask("GET", "/v1/me").status == 200
    again = Browser(browser.service).ask("POST", "/v1/sign-in", body)
    assert (again.status, again.json["error"]) == (
        401,
        "The sign-in link is not valid, was used or has ended; "
        "`tidemark sign-in-link` prints a new one",
    )


def test_a_key_that_is_newer_than_the_snapshot_signs_in(browser: Browser) -> None:
    key, text = new_key("acme", ("read:data",), NOW, name="new")
    browser.service.store.create(key)

    assert browser.ask("POST", "/v1/sign-in", {"key": text}).status == 200


def test_a_link_ends(browser: Browser) -> None:
    body = {"token": link_token(browser.service, ends_at=NOW)}

    assert browser.ask("POST", "/v1/sign-in", body).status == 401


def test_a_link_of_a_revoked_key_is_refused_and_stays_unused(browser: Browser) -> None:
    service = browser.service
    revoke(service, "acme")

    body = {"token": link_token(service)}

    assert browser.ask("POST", "/v1/sign-in", body).status == 401
    assert service.store.sign_ins().read(NOW).ended == frozenset()


def test_a_token_of_one_kind_is_none_of_another(browser: Browser) -> None:
    browser.cookie = f"tidemark_session={link_token(browser.service)}"
    assert browser.ask("GET", "/v1/me").status == 401

    browser.cookie = None
    browser.sign_in()
    session = str(browser.cookie).partition("=")[2]
    assert browser.ask("POST", "/v1/sign-in", {"token": session}).status == 401


def test_signing_out_ends_the_sign_in_in_every_process(browser: Browser) -> None:
    service = browser.service
    browser.sign_in()
    cookie = browser.cookie

    reply = browser.ask("DELETE", "/v1/sign-in")

    assert (reply.status, browser.cookie) == (204, 'tidemark_session=""')
    for line, name in zip(
        reply.headers["set-cookie"].split("\n"),
        ("tidemark_session", "tidemark_signed_in"),
        strict=True,
    ):
        assert line.startswith(f'{name}=""; ')
        assert "Max-Age=0" in line
    stolen = Browser(service, cookie)
    assert stolen.ask("GET", "/v1/me").json["code"] == "AUTH_REQUIRED"
    other = create_app(Settings(data_dir=str(service.data)), service.store, clock=lambda: NOW)
    service.app = other.app
    assert stolen.ask("GET", "/v1/me").status == 401
    other.close()
    assert stolen.ask("DELETE", "/v1/sign-in").status == 204


def test_processes_share_the_secret(browser: Browser) -> None:
    service = browser.service
    browser.sign_in()
    other = create_app(Settings(data_dir=str(service.data)), service.store, clock=lambda: NOW)
    service.app = other.app

    assert browser.ask("GET", "/v1/me").status == 200
    other.close()


def test_a_revoked_key_ends_its_sign_ins(browser: Browser) -> None:
    browser.sign_in()
    assert browser.ask("GET", "/v1/me").status == 200

    revoke(browser.service, "acme")

    assert browser.ask("GET", "/v1/me").json == {
        "success": False,
        "error": "The sign-in is not valid or has ended; sign in again",
        "code": "AUTH_REQUIRED",
    }


def test_a_sign_in_ends_with_its_key(browser: Browser) -> None:
    service = browser.service
    key_id = service.keys["acme"].split("_")[1]
    service.store.update(Key, key_id, NOW, expires_at=NOW + 60_000)
    service.follower.refresh()

    reply = browser.sign_in()

    assert reply.json["expires"] == "2026-11-30T00:54:20.000Z"
    assert "Max-Age=60;" in reply.headers["set-cookie"]


def test_scopes_are_those_of_now(browser: Browser) -> None:
    browser.sign_in()
    service = browser.service
    service.store.update(Key, service.keys["acme"].split("_")[1], NOW, scopes=("read:links",))
    service.follower.refresh()

    assert browser.ask("POST", SUMMARY, ASKED).status == 403


def test_an_api_key_shows_what_it_has_access_to(service: InProcessService) -> None:
    assert service.ask("GET", "/v1/me").json["expires"] is None
    assert service.ask("GET", "/v1/me", key=None).status == 401


def revoke(service: InProcessService, key: str) -> None:
    service.store.update(Key, service.keys[key].split("_")[1], NOW, revoked_at=NOW)
    service.follower.refresh()


def test_the_cookie_of_a_key_that_another_process_made_is_known_at_once(
    service: InProcessService,
) -> None:
    key, _ = new_key("acme", ["read:data"], NOW)
    service.store.create(key)
    secret = service.store.sign_ins().read(NOW).secret
    cookie = sign(new_token(TokenKind.SESSION, key.id, NOW + 1000), secret)

    reply = Browser(service, f"tidemark_session={cookie}").ask("GET", "/v1/me")

    assert reply.status == 200, reply.json
    assert reply.json["key"]["id"] == key.id


def test_signing_out_ends_every_sign_in_of_the_request(browser: Browser) -> None:
    browser.sign_in()
    cookie = browser.cookie
    browser.cookie = f"{cookie}; tidemark_session=added-by-another-port"

    assert browser.ask("DELETE", "/v1/sign-in").status == 204

    assert Browser(browser.service, cookie).ask("GET", "/v1/me").status == 401


def test_a_key_that_only_sends_sees_no_websites(service: InProcessService) -> None:
    key, text = new_key("acme", ["track:events"], NOW)
    service.store.create(key)
    service.follower.refresh()
    service.keys = {**service.keys, "sender": text}

    reply = service.ask("GET", "/v1/me", key="sender")

    assert (reply.status, reply.json["websites"]) == (200, [])
