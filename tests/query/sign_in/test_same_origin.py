"""Requests with a cookie come from the page of the service, and cookies are well-formed."""

from collections.abc import Mapping

import pytest

from schemas.registry.signed_tokens import TokenKind, new_token, sign
from tests.query.query_service import NOVEMBER, NOW, InProcessService
from tests.query.sign_in.browser import OWN_PAGE, Browser

ASKED = {"parameters": ["summary"], **NOVEMBER}
SUMMARY = "/v1/query?website_id=shop"
MARKED = {"x-tidemark-request": "1"}
FROM_ELSEWHERE: tuple[Mapping[str, str], ...] = (
    {},
    MARKED,
    {"sec-fetch-site": "same-origin"},
    {"x-tidemark-request": "0", "sec-fetch-site": "same-origin"},
    {**MARKED, "sec-fetch-site": "cross-site"},
    {**MARKED, "sec-fetch-site": "same-site"},
    {**MARKED, "sec-fetch-site": "none"},
    {**MARKED, "sec-fetch-site": "same-site", "origin": "http://q.example", "host": "q.example"},
    {**MARKED, "origin": "http://evil.example", "host": "q.example"},
    {**MARKED, "origin": "http://q.example.evil.example", "host": "q.example"},
    {**MARKED, "origin": "http://q.example:81", "host": "q.example"},
    {**MARKED, "origin": "null", "host": "q.example"},
    {**MARKED, "origin": "http://[", "host": "["},
    {**MARKED, "origin": "http://q.example"},
)


@pytest.fixture
def browser(service: InProcessService) -> Browser:
    browser = Browser(service)
    assert browser.sign_in().status == 200
    return browser


@pytest.mark.parametrize("headers", FROM_ELSEWHERE)
def test_a_request_from_elsewhere_is_refused(browser: Browser, headers: Mapping[str, str]) -> None:
    for method, url, body in (
        ("POST", SUMMARY, ASKED),
        ("POST", "/v1/sign-in", {"key": browser.service.keys["acme"]}),
        ("DELETE", "/v1/sign-in", None),
    ):
        reply = browser.ask(method, url, body, headers)
        assert (reply.status, reply.json["code"]) == (403, "ACCESS_DENIED"), url
        assert "set-cookie" not in reply.headers


def test_the_origin_of_the_host_is_a_proof(browser: Browser) -> None:
    headers = {**MARKED, "origin": "http://Q.example:4001", "host": "q.example:4001"}

    assert browser.ask("POST", SUMMARY, ASKED, headers).status == 200


def test_reads_need_no_proof_but_come_from_no_other_site(browser: Browser) -> None:
    assert browser.ask("GET", "/v1/me", headers={}).status == 200
    assert browser.ask("GET", "/v1/me", headers={"sec-fetch-site": "none"}).status == 200
    for site in ("cross-site", "same-site"):
        assert browser.ask("GET", "/v1/me", headers={"sec-fetch-site": site}).status == 403


def test_an_api_key_needs_no_proof_and_goes_before_the_cookie(browser: Browser) -> None:
    key = {"x-api-key": browser.service.keys["acme-track"]}

    assert browser.ask("POST", SUMMARY, ASKED, key).status == 403
    assert browser.ask("POST", SUMMARY, ASKED, {"x-api-key": "tm_a_b"}).status == 401
    key = {"x-api-key": browser.service.keys["acme"]}
    assert browser.ask("POST", SUMMARY, ASKED, key).status == 200


def test_no_answer_lets_scripts_of_other_origins_read_with_cookies(browser: Browser) -> None:
    reply = browser.ask("GET", "/v1/me", headers={"origin": "http://evil.example"})

    assert "access-control-allow-credentials" not in reply.headers


def test_a_changed_cookie_is_refused(browser: Browser) -> None:
    _, _, value = str(browser.cookie).partition("=")
    kind, id_, subject, ends_at, mac = value.split(".")
    other = browser.service.keys["globex"].split("_")[1]
    changed = (
        "",
        "a",
        "....",
        "x" * 5000,
        "é" * 64,
        value[:-1] + ("0" if value[-1] != "0" else "1"),
        ".".join((kind, id_, other, ends_at, mac)),
        ".".join((kind, id_, subject, f"{int(ends_at) + 1}", mac)),
        ".".join((kind, id_, subject, ends_at, mac.upper())),
        f"{value}.{mac}",
        f"{value}; tidemark_session={value}",
        f'"{value}"',
        sign(new_token(TokenKind.SESSION, subject, NOW + 1000), b"another secret"),
        sign(new_token(TokenKind.SESSION, subject, NOW), secret_of(browser)),
        sign(new_token(TokenKind.SESSION, "nobody", NOW + 1000), secret_of(browser)),
    )
    for text in changed:
        browser.cookie = f"tidemark_session={text}"
        reply = browser.ask("GET", "/v1/me", headers=OWN_PAGE)
        assert (reply.status, reply.json["code"]) == (401, "AUTH_REQUIRED"), text
    browser.cookie = f"theme=dark; tidemark_session={value}; a"
    assert browser.ask("GET", "/v1/me").status == 200


def secret_of(browser: Browser) -> bytes:
    return browser.service.store.sign_ins().read(NOW).secret
