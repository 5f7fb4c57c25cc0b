"""The e-mail address that a proxy sends: believed from the proxy alone, and only one address."""

from collections.abc import Mapping

import pytest

from query.sign_in.proxy_header import email_from_proxy
from schemas.runtime.settings import Settings
from schemas.runtime.sign_in_access import proxy_header
from tests.asgi_client import http_scope

PROXY = "10.0.0.5"
BEHIND_PROXY = proxy_header(
    Settings(proxy_email_header="X-Forwarded-Email", proxy_networks="10.0.0.5, fd00::/8")
)
ADA = {"X-Forwarded-Email": "Ada@Shop.example"}


def email(headers: Mapping[str, str], peer: str = PROXY) -> str | None:
    """The address of a request from that peer."""
    return email_from_proxy(http_scope("GET", "/", headers, peer), BEHIND_PROXY)


@pytest.mark.parametrize("peer", [PROXY, "::ffff:10.0.0.5", "fd12::1"])
def test_the_proxy_sends_who_signed_in(peer: str) -> None:
    assert email(ADA, peer) == "ada@shop.example"


@pytest.mark.parametrize("peer", ["203.0.113.7", "10.0.0.6", "::1", "127.0.0.1", "", "proxy"])
def test_nobody_else_does(peer: str) -> None:
    assert email(ADA, peer) is None


def test_only_the_connection_counts_not_what_it_says_of_others() -> None:
    claimed = {**ADA, "X-Forwarded-For": PROXY, "X-Real-IP": PROXY, "Forwarded": f"for={PROXY}"}

    assert email(claimed, "203.0.113.7") is None


def test_a_connection_without_an_address_is_not_the_proxy() -> None:
    scope = http_scope("GET", "/", ADA, PROXY)
    scope["client"] = None

    assert email_from_proxy(scope, BEHIND_PROXY) is None


@pytest.mark.parametrize(
    "value",
    [
        "ada@shop.example\neve@evil.example",  # two headers
        "ada@shop.example\nada@shop.example",
        "ada@shop.example, eve@evil.example",
        "ada@shop.example,",
        "ada@shop.example;eve@evil.example",
        "ada@shop.example eve@evil.example",
        "Ada <ada@shop.example>",
        "ada@shop@evil.example",
        "ada",
        "@shop.example",
        "ada@",
        "",
        " ",
        "ada@shop.example\x00",
        "a" * 250 + "@shop.example",
    ],
)
def test_all_but_one_address_is_refused(value: str) -> None:
    assert email({"X-Forwarded-Email": value}) is None


@pytest.mark.parametrize("name", ["X-Forwarded-User", "X_Forwarded_Email", "X-Forwarded-Email-2"])
def test_another_header_has_no_effect(name: str) -> None:
    assert email({name: "ada@shop.example"}) is None


def test_without_the_setting_no_header_has_an_effect() -> None:
    assert proxy_header(Settings(proxy_networks="0.0.0.0/0")) is None
    assert email_from_proxy(http_scope("GET", "/", ADA, PROXY), None) is None
