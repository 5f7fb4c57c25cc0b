"""Requests to the routes that manage an organization, for the access model."""

from collections.abc import Iterator
from typing import Any

from tests.query.access_requests import WEBSITES, Request

MANAGE = ("manage:websites",)
READ = ("read:data", "manage:websites")


def management_requests() -> Iterator[Request]:
    """A request to each of these routes about every possible subject."""
    yield from _organization()
    yield from _websites()


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


MANAGEMENT_REMOVALS = (
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
