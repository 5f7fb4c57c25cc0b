"""What a shared dashboard reaches: its own website, by the routes that admit it, nothing else."""

import re

import pytest

from query.app import OPENAPI_SERVICE
from schemas.registry import Organization
from schemas.registry.signed_tokens import TokenKind, new_token, sign
from tests.asgi_client import request_once
from tests.query.query_service import NOVEMBER, NOW, InProcessService
from tests.query.shared_dashboards import SharedDashboard, opened

ADMITTED = {("POST", "/v1/query"), ("POST", "/v1/query/metrics"), ("GET", "/v1/me")}
OPEN_TO_ALL = {
    ("GET", "/"),
    ("GET", "/health"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/v1/query/types"),
    ("GET", "/v1/query/tables"),
    ("GET", "/v1/query/metrics"),
    ("POST", "/v1/shares/open"),
    ("GET", "/v1/sign-in"),
    ("GET", "/v1/sign-in/oidc"),
    ("GET", "/v1/sign-in/oidc/callback"),
    ("GET", "/v1/unsubscribe"),
    ("POST", "/v1/unsubscribe"),
}
OF_BROWSERS = {
    ("POST", "/v1/sign-in"),
    ("DELETE", "/v1/sign-in"),
    ("POST", "/v1/sign-in/reset"),
    ("POST", "/v1/sign-in/password"),
    ("POST", "/v1/invitations/open"),
    ("POST", "/v1/invitations/accept"),
}
"""For a page of this origin, with a key; they refuse other requests with 403 too."""
ROUTES = sorted({(o.method, o.path) for o in OPENAPI_SERVICE.operations} - OPEN_TO_ALL - ADMITTED)


def test_a_route_refuses_shares_unless_it_admits_them(
    service: InProcessService, subtests: pytest.Subtests
) -> None:
    dashboard = opened(service)
    for method, path in ROUTES:
        with subtests.test(f"{method} {path}"):
            body: object = {} if method != "GET" else None
            reply = dashboard.ask(method, re.sub(r"\{\w+\}", "shop", path), body)

            assert (reply.status, reply.json["code"]) == (403, "ACCESS_DENIED")
            if (method, path) not in OF_BROWSERS:
                assert "shared dashboard" in reply.json["error"]


def test_the_lists_of_routes_name_documented_ones() -> None:
    documented = {(o.method, o.path) for o in OPENAPI_SERVICE.operations}

    assert documented >= ADMITTED | OPEN_TO_ALL | OF_BROWSERS


@pytest.mark.parametrize("website", ["blog", "rival", "nowhere", "shop,blog", "acme", "shop,acme"])
def test_a_share_queries_its_website_only(service: InProcessService, website: str) -> None:
    dashboard = opened(service)
    body = {"metrics": ["visits"], **NOVEMBER}

    asked = dashboard.query("summary", website=website)
    metrics = dashboard.ask("POST", f"/v1/query/metrics?website_id={website}", body)

    assert (asked.status, metrics.status) == (403, 403)
    assert dashboard.query("summary").status == 200


def test_a_share_queries_no_link(service: InProcessService) -> None:
    body = {"parameters": ["link_total_clicks"], **NOVEMBER}

    assert opened(service).ask("POST", "/v1/query?link_id=go", body).status == 403


@pytest.mark.parametrize("kind", [TokenKind.SESSION, TokenKind.SIGN_IN_LINK])
def test_only_tokens_of_shares_are_access_tokens(
    service: InProcessService, kind: TokenKind
) -> None:
    dashboard = opened(service)
    secret = service.store.sign_ins().read(NOW).secret

    dashboard.access = "tmshare_" + sign(new_token(kind, dashboard.share["id"], NOW + 1000), secret)

    assert dashboard.query("summary").status == 401


def test_an_access_token_of_a_key_or_another_end_is_refused(service: InProcessService) -> None:
    dashboard = opened(service)
    secret = service.store.sign_ins().read(NOW).secret
    key_id = service.keys["acme"].split("_")[1]
    of_key = sign(new_token(TokenKind.SHARE, key_id, NOW + 1000), secret)
    ended = sign(new_token(TokenKind.SHARE, dashboard.share["id"], NOW), secret)
    later = dashboard.access.replace(".1796", ".1797")

    for text in (f"tmshare_{of_key}", f"tmshare_{ended}", later, "tmshare_", "tmshare_x.y"):
        dashboard.access = text
        assert dashboard.query("summary").status == 401
        assert dashboard.ask("GET", "/v1/shares").status == 401


def test_an_access_token_is_no_cookie(service: InProcessService) -> None:
    dashboard = opened(service)
    value = dashboard.access.removeprefix("tmshare_")

    for text in (value, dashboard.access):
        headers = {"cookie": f"tidemark_session={text}"}
        assert request_once(service.app, "GET", "/v1/me", None, headers).status == 401


def test_a_share_has_a_limit_beside_that_of_the_keys(service: InProcessService) -> None:
    service.store.update(Organization, "acme", NOW, limits={"query": 4})
    service.follower.refresh()
    one, other = opened(service), opened(service)

    def asked(dashboard: SharedDashboard, network: str) -> int:
        path, body = "/v1/query?website_id=shop", {"parameters": ["summary"], **NOVEMBER}
        return dashboard.ask("POST", path, body, f"198.51.{network}.7").status

    assert [asked(one, "1") for _ in range(3)] == [200, 200, 429]
    assert [asked(one, "2"), asked(other, "2"), asked(other, "3")] == [200, 200, 429]
    assert [service.query("summary").status for _ in range(5)] == [200] * 4 + [429]
