"""Requests to the routes that manage an organization, for the access model."""

from collections.abc import Iterator
from typing import Any

from tests.query.access_requests import WEBSITES, Request

ADMIN = ("admin",)
MANAGE = ("manage:websites",)
READ = ("read:data", "manage:websites")


def management_requests() -> Iterator[Request]:
    """A request to each of these routes about every possible subject."""
    yield from _organization()
    yield from _websites()
    yield from _keys()
    yield from _audit()
    yield Request(route=("GET", "/v1/limits"), path="/v1/limits", scopes=MANAGE)
    for website in WEBSITES:
        named: Any = {"subject": website, "query": {"website_id": website}}
        yield Request(route=("GET", "/v1/limits"), path="/v1/limits", scopes=MANAGE, **named)
    for website in WEBSITES:
        path, query = "/v1/quarantine", {"website_id": website}
        about: Any = {"path": path, "subject": website, "query": query}
        yield Request(route=("GET", path), scopes=("read:data",), **about)


def _organization() -> Iterator[Request]:
    path = "/v1/organization"
    yield Request(route=("GET", path), path=path, scopes=MANAGE, whole=True)
    renamed = {"name": "acme"}
    yield Request(route=("PATCH", path), path=path, scopes=("admin",), whole=True, body=renamed)


def _websites() -> Iterator[Request]:
    every, one = "/v1/websites", "/v1/websites/{website_id}"
    body = {"domain": "new.example"}
    create: Any = {"scopes": MANAGE, "whole": True, "body": body, "good": 201}
    yield Request(route=("POST", every), path=every, **create)
    yield Request(route=("GET", every), path=every, scopes=READ)
    for website in WEBSITES:
        about: Any = {"subject": website, "hidden": True}
        path = f"{every}/{website}"
        yield Request(route=("GET", one), path=path, scopes=READ, **about)
        yield Request(route=("PATCH", one), path=path, scopes=MANAGE, body={"name": "b"}, **about)
        for part in ("snippet", "status"):
            route = ("GET", f"{one}/{part}")
            yield Request(route=route, path=f"{path}/{part}", scopes=READ, **about)


def _keys() -> Iterator[Request]:
    every, one = "/v1/keys", "/v1/keys/{key_id}"
    yield Request(route=("GET", every), path=every, scopes=ADMIN)
    for website in WEBSITES:
        about: Any = {"subject": website, "path": every, "scopes": ADMIN}
        body = {"scopes": ["read:data"], "websiteId": website}
        yield Request(route=("POST", every), body=body, good=201, **about)
        yield Request(route=("GET", every), query={"website_id": website}, **about)
    everywhere = {"scopes": ["read:data"], "websiteId": None}
    create: Any = {"path": every, "scopes": ADMIN, "good": 201}
    yield Request(route=("POST", every), body=everywhere, whole=True, **create)
    for name in ("key_shop", "key_acme", "key_rival", "nowhere"):
        about = {"subject": name, "hidden": True, "scopes": ADMIN}
        path = f"{every}/{name}"
        yield Request(route=("GET", one), path=path, **about)
        yield Request(route=("PATCH", one), path=path, body={"name": "b"}, **about)
        route = ("POST", f"{one}/rotate")
        yield Request(route=route, path=f"{path}/rotate", body={}, good=201, **about)


def _audit() -> Iterator[Request]:
    path = "/v1/audit"
    yield Request(route=("GET", path), path=path, scopes=ADMIN)


def _end_of_key(method: str, part: str) -> Request:
    return Request(
        route=(method, f"/v1/keys/{{key_id}}{part}"),
        path=f"/v1/keys/key_rival{part}",
        scopes=ADMIN,
        subject="key_rival",
        hidden=True,
    )


MANAGEMENT_REMOVALS = (
    _end_of_key("POST", "/revoke"),
    _end_of_key("DELETE", ""),
    Request(
        route=("DELETE", "/v1/websites/{website_id}"),
        path="/v1/websites/rival",
        scopes=MANAGE,
        subject="rival",
        hidden=True,
        whole=True,
        query={"domain": "rival.example"},
    ),
)
