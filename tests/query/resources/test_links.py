"""Short links over HTTP."""

import time
from pathlib import Path
from typing import Any

import pytest

from schemas.runtime.app_schemes import parse_app_schemes
from tests.asgi_client import request_once
from tests.query.query_service import InProcessService, start_service

LINKS = "/v1/links"


def create(service: InProcessService, **more: Any) -> dict[str, Any]:
    reply = service.ask(
        "POST", LINKS, {"name": "Launch", "targetUrl": "https://t.example/", **more}
    )
    assert reply.status == 201, reply.json
    link: dict[str, Any] = reply.json["data"]
    return link


def test_a_link_is_made_with_every_field(service: InProcessService) -> None:
    link = create(
        service,
        organizationId="acme",
        slug="launch",
        externalId="campaign-7",
        expiresAt="2027-01-01T01:00:00+01:00",
        expiredRedirectUrl="https://t.example/over",
        iosUrl="https://t.example/ios",
        androidUrl="https://t.example/android",
        ogTitle=" Launch day ",
        ogDescription="All of it",
        ogImageUrl="https://t.example/a.png",
        ogVideoUrl="https://t.example/a.mp4",
    )

    assert link.pop("id").startswith("lnk_")
    assert link == {
        "organizationId": "acme",
        "name": "Launch",
        "targetUrl": "https://t.example/",
        "slug": "launch",
        "externalId": "campaign-7",
        "expiresAt": "2027-01-01T00:00:00.000Z",
        "expiredRedirectUrl": "https://t.example/over",
        "iosUrl": "https://t.example/ios",
        "androidUrl": "https://t.example/android",
        "ogTitle": "Launch day",
        "ogDescription": "All of it",
        "ogImageUrl": "https://t.example/a.png",
        "ogVideoUrl": "https://t.example/a.mp4",
        "createdAt": "2026-11-30T00:53:20.000Z",
        "updatedAt": "2026-11-30T00:53:20.000Z",
    }


def test_the_keys_organization_and_a_slug_are_given_when_absent(service: InProcessService) -> None:
    link = create(service)

    assert link["organizationId"] == "acme"
    assert len(link["slug"]) == 8


def test_a_link_is_read_changed_and_deleted(service: InProcessService) -> None:
    path = f"{LINKS}/{create(service, externalId='a', expiresAt=1_800_000_000_000)['id']}"
    changes = {"name": "Relaunch", "externalId": "b", "expiresAt": None}

    changed = service.ask("PATCH", path, changes).json["data"]

    assert {n: changed[n] for n in changes} == changes
    assert changed["targetUrl"] == "https://t.example/"
    assert service.ask("GET", path).json == {"success": True, "data": changed}
    assert service.ask("DELETE", path).json == {"success": True}
    assert service.ask("GET", path).status == 404


def test_a_new_link_can_be_asked_about_at_once(service: InProcessService) -> None:
    link = create(service)

    assert service.rows("link_total_clicks", subject=f"link:{link['id']}") == [{"total": 0}]


def test_links_are_listed_by_page_and_external_id(service: InProcessService) -> None:
    first, second = create(service, externalId="a"), create(service, externalId="b")

    assert service.ask("GET", LINKS, externalId="b").json == {
        "success": True,
        "data": [second],
        "meta": {"page": 1, "limit": 100, "total": 1},
    }
    whole = service.ask("GET", LINKS, organizationId="acme").json
    assert whole["meta"]["total"] == 3
    pages = [service.ask("GET", LINKS, limit="1", page=str(n)).json["data"] for n in (1, 2, 3, 4)]
    assert [link for page in pages for link in page] == whole["data"]
    assert {first["id"], second["id"]} < {link["id"] for link in whole["data"]}


def test_a_slug_that_is_taken_is_a_conflict(service: InProcessService) -> None:
    body = {"name": "x", "targetUrl": "https://t.example/", "slug": "away"}

    reply = service.ask("POST", LINKS, body)

    assert (reply.status, reply.json) == (
        409,
        {"success": False, "error": "This slug is already taken", "code": "CONFLICT"},
    )
    assert service.ask("PATCH", f"{LINKS}/go", {"slug": "away"}).status == 409


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"name": ""}, "'name' must have 1 to 255 characters"),
        ({"name": None}, "'name' must be a string, not null"),
        ({"targetUrl": "javascript:alert(1)"}, "'targetUrl' must be an http or https URL"),
        ({"targetUrl": "https://a:b@t.example/"}, "'targetUrl' must be an http or https URL"),
        ({"iosUrl": "ftp://t.example/"}, "'iosUrl' must be an http or https URL"),
        ({"iosUrl": "shop://cart"}, "'iosUrl' must be an http or https URL"),
        ({"ogTitle": "t" * 201}, "'ogTitle' must have 1 to 200 characters"),
        ({"ogImageUrl": "data:image/png,x"}, "'ogImageUrl' must be an http or https URL"),
        ({"slug": "a b"}, "'slug' must have 3 to 50 letters"),
        ({"externalId": "x" * 256}, "'externalId' must have at most 255 characters"),
        ({"expiresAt": "soon"}, "'expiresAt' must be an ISO 8601 instant or null"),
        ({"expiresAt": 10**18}, "'expiresAt' must lie between 1970 and 9999"),
    ],
)
def test_an_invalid_field_is_named(
    service: InProcessService, body: dict[str, Any], message: str
) -> None:
    whole = {"name": "x", "targetUrl": "https://t.example/", **body}

    for reply in (service.ask("POST", LINKS, whole), service.ask("PATCH", f"{LINKS}/go", body)):
        assert (reply.status, message in reply.json["error"]) == (400, True), reply.json


@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "1001"}, {"page": "x"}, {"page": "²"}])
def test_a_wrong_page_is_refused(service: InProcessService, query: dict[str, str]) -> None:
    assert service.ask("GET", LINKS, **query).status == 400


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/links", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("/v1/links/go", {"GET", "HEAD", "PATCH", "DELETE", "OPTIONS"}),
        ("/v1/query", {"POST", "OPTIONS"}),
    ],
)
def test_a_preflight_names_every_method_of_the_route(
    service: InProcessService, path: str, methods: set[str]
) -> None:
    preflight_headers = {
        "origin": "https://service.example",
        "access-control-request-method": "PATCH",
    }

    reply = request_once(service.app, "OPTIONS", path, headers=preflight_headers)

    assert reply.status == 204
    assert set(reply.headers["access-control-allow-methods"].split(", ")) == methods


def test_targets_may_have_schemes_of_apps_that_are_on_the_list(tmp_path: Path) -> None:
    service = start_service(tmp_path, link_schemes="shop, market")

    link = create(service, iosUrl="shop://cart?item=1", androidUrl="market:details")
    changed = service.ask("PATCH", f"{LINKS}/{link['id']}", {"targetUrl": "shop://cart"}).json[
        "data"
    ]

    assert (changed["targetUrl"], changed["iosUrl"], changed["androidUrl"]) == (
        "shop://cart",
        "shop://cart?item=1",
        "market:details",
    )
    refused = service.ask("PATCH", f"{LINKS}/{link['id']}", {"expiredRedirectUrl": "shop://over"})
    assert refused.json["error"].startswith("'expiredRedirectUrl' must be an http or https URL")


@pytest.mark.parametrize("unsafe", ["javascript", "data", "1a", "file"])
def test_no_unsafe_scheme_can_be_listed(unsafe: str) -> None:
    with pytest.raises(ValueError, match=unsafe):
        parse_app_schemes(f"shop,{unsafe}")


def test_a_link_is_never_written_to_a_registry_whose_file_was_deleted(
    service: InProcessService,
) -> None:
    (service.data / "registry.db").rename(service.data / "elsewhere.db")
    refused = [
        service.ask("POST", LINKS, {"name": "Launch", "targetUrl": "https://t.example/"}),
        service.ask("PATCH", f"{LINKS}/go", {"name": "Renamed"}),
        service.ask("GET", LINKS),
    ]
    answered = service.query("summary")
    (service.data / "elsewhere.db").rename(service.data / "registry.db")

    assert [(reply.status, reply.json["code"]) for reply in refused] == [
        (503, "SERVICE_UNAVAILABLE")
    ] * 3
    assert (answered.status, answered.json["success"]) == (200, True)
    assert create(service)["name"] == "Launch"


def test_keys_read_nothing_once_the_registry_was_away_for_too_long(
    service: InProcessService,
) -> None:
    """A key that was revoked meanwhile would go on reading."""
    follower = service.follower
    follower.error = "lost"
    follower._read_at = time.monotonic() - 72 * 3600 + 60
    before = service.query("summary").status
    follower._read_at -= 61

    refused = service.query("summary")

    assert (before, refused.status) == (200, 503)
    assert refused.json["error"].startswith("The registry has been unreachable for too long")
    follower.error = None
    assert service.query("summary").status == 200
