"""Shared dashboards: opened by link and password, ended, framed."""

from pathlib import Path

import pytest

from query.app import create_app
from schemas.runtime.settings import Settings
from tests.asgi_client import request_once
from tests.query.query_service import NOW, InProcessService
from tests.query.shared_dashboards import link_of, opened, share

PASSWORD = "correct horse"
GERMAN = {"field": "country", "operator": "eq", "value": "DE"}
HALF_A_DAY = "2026-11-30T12:53:20.000Z"
SHOP = {
    "id": "shop",
    "name": "",
    "domain": "shop.example",
    "timezone": "UTC",
    "scopes": ["read:data"],
}


def test_a_link_opens_without_a_key(service: InProcessService) -> None:
    dashboard = share(service, filters=[GERMAN])

    reply = dashboard.open()

    assert reply.status == 200
    assert reply.headers["cache-control"] == "no-store"
    assert reply.json == {
        "success": True,
        "access": dashboard.access,
        "expires": HALF_A_DAY,
        "name": dashboard.share["name"],
        "website": SHOP,
        "filters": [GERMAN],
    }
    assert dashboard.ask("GET", "/v1/me").json == {
        "success": True,
        "organization": None,
        "websites": [SHOP],
        "key": None,
        "person": None,
        "collectUrl": "http://127.0.0.1:4000",
        "keepBounds": {"minimum": 0, "maximum": 0},
        "mail": False,
        "scopes": ["read:data"],
        "expires": HALF_A_DAY,
        "share": {"name": dashboard.share["name"], "filters": [GERMAN]},
    }


def test_passwords_are_limited_before_they_are_verified(service: InProcessService) -> None:
    dashboard = share(service, password=PASSWORD)

    for attempt in range(10):
        assert dashboard.open(f"wrong password {attempt}").status == 401
    right = dashboard.open(PASSWORD)

    assert (right.status, right.json["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert dashboard.open(PASSWORD, address="198.51.100.7").status == 200


def test_passwords_from_many_networks_are_limited_in_total(service: InProcessService) -> None:
    dashboard, other = share(service, password=PASSWORD), share(service, password=PASSWORD)

    replies = [dashboard.open("x", address=f"198.51.{n}.7").status for n in range(60)]

    assert set(replies) == {401}
    assert dashboard.open(PASSWORD, address="192.0.2.7").status == 429
    assert other.open(PASSWORD, address="192.0.2.7").status == 200


@pytest.mark.parametrize("text", ["x", "..", "shr_a.shop.", "é", "x" * 128])
def test_an_unknown_link_opens_nothing(service: InProcessService, text: str) -> None:
    link = link_of(share(service).share)
    head, _, secret = link.rpartition(".")
    crossed = f"{head.rpartition('.')[0]}.blog.{secret}"

    for tried in (text, f"{head}.{secret[::-1]}", f"{link}x"[:128], f"{head}.", crossed):
        body = {"link": tried}
        assert request_once(service.app, "POST", "/v1/shares/open", body).status == 404


def test_a_new_share_is_known_to_every_process_at_once(service: InProcessService) -> None:
    options = Settings(data_dir=str(service.data))
    another = create_app(options, service.store, clock=lambda: NOW)
    one, other = opened(service), share(service)

    service.app = another.app  # which never polls the registry

    assert one.query("summary").status == 200
    assert other.open().status == 200
    assert other.ask("GET", "/v1/me").status == 200
    another.close()


def test_a_revoked_share_ends_at_the_next_request(service: InProcessService) -> None:
    dashboard = opened(service)
    assert dashboard.query("summary").status == 200

    service.ask("DELETE", f"/v1/shares/{dashboard.share['id']}", key="acme-admin")

    assert dashboard.query("summary").status == 401
    assert dashboard.ask("GET", "/v1/me").status == 401
    assert dashboard.open().status == 404


def test_only_the_origins_of_a_share_may_frame_its_page(
    service: InProcessService, tmp_path: Path
) -> None:
    page = tmp_path / "page"
    page.mkdir()
    (page / "index.html").write_text("<title>Tidemark</title>")
    options = Settings(data_dir=str(service.data))
    built = create_app(options, service.store, clock=lambda: NOW, page=page)
    service.app = built.app
    dashboard = share(service, frameOrigins=["https://client.example", "https://*.other.example"])

    def ancestors(path: str) -> str:
        reply = request_once(service.app, "GET", path, None, {"accept": "text/html"})
        return reply.headers["content-security-policy"].partition("frame-ancestors ")[2]

    path = dashboard.share["path"]
    assert ancestors(path) == "https://client.example https://*.other.example"
    assert ancestors(f"{path}/list?a=b") == "https://client.example https://*.other.example"
    assert ancestors(f"{path}x") == ancestors("/shop/overview") == ancestors("/s/") == "'none'"
    service.ask("DELETE", f"/v1/shares/{dashboard.share['id']}", key="acme-admin")
    assert ancestors(path) == "'none'"
    built.close()


@pytest.mark.parametrize("origin", ["shop.example", "https://a.example; script-src *", "*"])
def test_what_is_no_origin_cannot_frame(service: InProcessService, origin: str) -> None:
    body = {"name": "a", "frameOrigins": [origin]}

    reply = service.ask("POST", "/v1/shares", body, key="acme-admin", website_id="shop")

    assert reply.status == 400
    assert "frameOrigins" in reply.json["error"]
