"""Every key on every route of the query service, against an access model of its own."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any
from urllib.parse import urlencode

import pytest
from msgspec import Struct

from query.app import OPENAPI_SERVICE, create_app
from schemas.http.middleware import HttpMiddleware
from schemas.registry import KEY_SCOPES, RegistryStore, parse_key
from schemas.registry.signed_tokens import TokenKind, new_token, sign
from schemas.runtime.settings import Settings
from tests.access_model import Caller, callers, headers_with_key, people, populate
from tests.asgi_client import request_once
from tests.query.access_requests import ORGANIZATIONS, WEBSITES, Request
from tests.query.query_service import NOVEMBER, NOW
from tests.query.record_requests import REMOVALS, record_requests
from tests.query.sign_in.browser import OWN_PAGE
from tests.registries import make_registry

CUSTOM = {
    "query": {
        "table": "events",
        "selects": [{"field": "*", "aggregate": "count", "alias": "n"}],
    },
    **NOVEMBER,
}


def requests() -> Iterator[Request]:
    """A request to each documented route about every possible subject."""
    for name in ("/", "/health/live", "/v1/query/types", "/v1/query/tables", "/v1/query/metrics"):
        yield Request(route=("GET", name), path=name)
    for name in ("/health", "/health/ready"):  # nothing runs beside the application in this test
        yield Request(route=("GET", name), path=name, good=503)
    yield from _queries()
    yield from record_requests()
    receipt = "/v1/receipts/{receipt}"
    scopes = ("read:data", "track:events")
    yield Request(route=("GET", receipt), path="/v1/receipts/none", scopes=scopes, good=404)
    yield Request(route=("GET", "/v1/me"), path="/v1/me", scopes=KEY_SCOPES)
    yield Request(route=("GET", "/v1/sign-in"), path="/v1/sign-in")
    for path in FOR_STRANGERS:  # from no page of this origin
        yield Request(route=("POST", path), path=path, good=403)
    no_link = {"link": "none"}
    opened = "/v1/shares/open"
    yield Request(route=("POST", opened), path=opened, body=no_link, good=404)
    for path in ("/v1/sign-in/oidc", "/v1/sign-in/oidc/callback"):  # not set up
        yield Request(route=("GET", path), path=path, good=404)
    for method in ("POST", "DELETE"):  # from no page of this origin
        yield Request(route=(method, "/v1/sign-in"), path="/v1/sign-in", good=403)


def _queries() -> Iterator[Request]:
    access: Any = {"scopes": ("read:data",)}
    export = "/v1/export/{table}"
    standard = {"parameters": ["summary"], **NOVEMBER}
    clicks = {"parameters": ["link_total_clicks"], **NOVEMBER}
    metrics = {"metrics": ["visits"], **NOVEMBER}
    bodies = (("", standard), ("/metrics", metrics), ("/custom", CUSTOM), ("/compile", CUSTOM))
    for subject in (*WEBSITES, *ORGANIZATIONS):
        about: Any = {"subject": subject, "query": {"website_id": subject}}
        for path, body in bodies:
            target = f"/v1/query{path}"
            yield Request(route=("POST", target), path=target, body=body, **access, **about)
        rows: Any = {"subject": subject, "query": {"website_id": subject, **NOVEMBER}}
        yield Request(route=("GET", export), path="/v1/export/events", **access, **rows)
        person: Any = {"subject": subject, "query": {"website_id": subject, "visitor": "nobody"}}
        path = "/v1/person/export"
        yield Request(route=("GET", path), path=path, **access, **person)
    for subject in ("go", "away", "nowhere"):
        about = {"subject": subject, "query": {"link_id": subject}, "whole": True}
        yield Request(route=("POST", "/v1/query"), path="/v1/query", body=clicks, **access, **about)


FOR_STRANGERS = (
    "/v1/sign-in/reset",
    "/v1/sign-in/password",
    "/v1/invitations/open",
    "/v1/invitations/accept",
)
"""They need no key; a page of this origin may ask them."""
NETWORKS, TURNS = count(), count()


class Service(Struct, frozen=True):
    """A query service whose registry has every kind of key."""

    app: HttpMiddleware
    callers: tuple[Caller, ...]
    secret: bytes
    """Signs the cookies of sign-ins."""

    def ways(self, caller: Caller) -> Iterator[Mapping[str, str]]:
        """The headers of a caller, in each way a key can be sent, by cookie too."""
        if caller.member is None:
            yield from headers_with_key(caller)
        else:
            token = new_token(TokenKind.SESSION, f"password-{caller.member}", NOW + 1000)
            yield {**OWN_PAGE, "cookie": f"tidemark_session={sign(token, self.secret)}"}
        if caller.organization and (parts := parse_key(caller.text or "")):
            token = new_token(TokenKind.SESSION, parts[0], NOW + 1000)
            yield {**OWN_PAGE, "cookie": f"tidemark_session={sign(token, self.secret)}"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    settings = Settings(
        data_dir=str(tmp_path_factory.mktemp("access")), query_memory_mb=256, query_threads=1
    )
    make_registry(settings.registry_url)
    store = RegistryStore(settings.registry_url)
    populate(store, NOW)
    everybody = (*callers(store, NOW), *people(store, NOW))
    application = create_app(settings, store, clock=lambda: NOW, fresh_seconds=60)
    yield Service(application.app, everybody, store.sign_ins().read(NOW).secret)
    application.close()
    store.close()


def deviation(
    service: Service, caller: Caller, request: Request, *, every_way: bool
) -> Iterator[str]:
    """The responses that differ from the access model, in every way to send a key or in one."""
    url = f"{request.path}?{urlencode(request.query)}"
    # From another network each time: the clock stands still, and refusals are limited by network.
    address = "198.{}.{}.7".format(*divmod(next(NETWORKS) % 65_536, 256))
    ways = list(service.ways(caller))
    turn = next(TURNS) % len(ways)
    for headers in ways if every_way else ways[turn : turn + 1]:
        if "cookie" in headers and request.path in ("/v1/sign-in", *FOR_STRANGERS):
            continue  # this page may ask
        body = request.body() if callable(request.body) else request.body
        reply = request_once(service.app, request.route[0], url, body, headers, address)
        if reply.status != request.status(caller):
            yield (
                f"{caller.name}: {request.route[0]} {url} answered {reply.status}, "
                f"not {request.status(caller)}: {reply.body[:200]!r}"
            )


@pytest.mark.parametrize("every_way", [False, pytest.param(True, marks=pytest.mark.long)])
def test_every_key_reaches_what_it_may_and_nothing_else(
    service: Service, *, every_way: bool
) -> None:
    every = (*requests(), *REMOVALS)
    wrong = [
        line
        for request in every
        for caller in service.callers
        if not (request in REMOVALS and request.status(caller) < 400)
        for line in deviation(service, caller, request, every_way=every_way)
    ]

    assert wrong == [], "\n".join(wrong)


def test_the_model_knows_every_documented_route() -> None:
    documented = {(operation.method, operation.path) for operation in OPENAPI_SERVICE.operations}

    assert {request.route for request in (*requests(), *REMOVALS)} == documented


def test_a_refusal_does_not_tell_whether_the_subject_exists(service: Service) -> None:
    for caller in service.callers:
        if not caller.live or caller.organization != "acme":
            continue
        for headers in service.ways(caller):
            body = {"parameters": ["summary"], **NOVEMBER}
            other, none = (
                request_once(service.app, "POST", f"/v1/query?website_id={name}", body, headers)
                for name in ("rival", "nowhere")
            )
            assert (other.status, other.body) == (none.status, none.body)


def test_what_a_request_could_do_to_another_tenant_was_not_done(service: Service) -> None:
    owner = next(c for c in service.callers if c.organization == "globex")
    (headers, _) = headers_with_key(owner)

    links = request_once(service.app, "GET", "/v1/links", None, headers).json["data"]

    assert "away" in {link["id"] for link in links}
    assert {link["organizationId"] for link in links} == {"globex"}
