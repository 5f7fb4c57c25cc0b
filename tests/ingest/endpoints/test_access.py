"""Every key on every route of the collector, against an access model of its own."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from ingest.app import collector_api
from ingest.protocols.all_protocols import PROTOCOLS
from ingest.protocols.protocol import EXAMPLE_ALIAS, Protocol, Route
from schemas.http.middleware import HttpMiddleware
from schemas.kinds import KINDS
from schemas.registry import Alias, RegistryFollower, RegistryStore
from schemas.registry.api_keys import parse_key
from schemas.runtime.settings import Settings
from tests.access_model import Caller, callers, headers_with_key, populate
from tests.asgi_client import request_once
from tests.http_client import Reply
from tests.ingest.in_memory_collector import NOW, InMemoryProducer
from tests.ingest.lone_collector import lone_collector
from tests.registries import make_registry

EXAMPLES = {kind.path: kind.examples for kind in KINDS if kind.path}
MIXED_BODIES: dict[str, object] = {
    "/": {"type": "custom", "name": "a"},
    "/batch": [{"type": "custom", "name": "a"}],
    "/events": [{"name": "a"}],
}
SUBJECTS = (None, "shop", "blog", "rival", "nowhere", "acme")
UNNAMED = {"acme": "acme", "globex": "rival"}
"""Where a key's items go that name no website: to the only one, or else to the organization."""

ALIASES = {"of-shop": "shop", "nowhere": "nowhere"}
"""Aliases that are sent, with their website."""
STORES_NOTHING = {
    *("/v1/group", "/v1/g", "/api/s/group", "/api/s/s2s/group", "/log/hb"),
    *("/v1/import", "/rudderstack/v1/import", "/import"),
}
"""Routes of other products whose example has no place here, or needs an import."""
SIGNED = {"/vercel/drain"}
"""Routes that take an alias with a signature only, and else an API key."""

OPEN = {"/l/{slug}", "/l/{slug}/qr.svg", "/robots.txt", "/health", "/health/live", "/health/ready"}


class Collector(Struct, frozen=True):
    """A collector whose registry has every kind of key."""

    app: HttpMiddleware
    producer: InMemoryProducer
    callers: tuple[Caller, ...]


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    settings = Settings(data_dir=str(tmp_path_factory.mktemp("access")))
    make_registry(settings.registry_url)
    store = RegistryStore(settings.registry_url)
    populate(store, NOW)
    for protocol in PROTOCOLS:
        stamps: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}
        alias_id = f"example_{protocol.product}"
        store.create(
            Alias(
                id=alias_id, organization_id="acme", website_id="shop",
                product=protocol.product, name="of-shop", **stamps,
            )
        )  # fmt: skip
    everybody = tuple(callers(store, NOW))
    follower = RegistryFollower(store)
    producer = InMemoryProducer()
    app = lone_collector(producer, follower, lambda: NOW, settings)
    yield Collector(app, producer, everybody)
    store.close()


def tracking_status(caller: Caller, website: str | None) -> int:
    """Collecting takes a key with its scope, or no key and a website that exists."""
    if caller.text is None:
        return 401 if website is None else 200 if website in ("shop", "blog", "rival") else 403
    if not caller.live:
        return 401
    if not caller.holds("track:events"):
        return 403
    return 200 if website is None or (website != "acme" and caller.reaches(website)) else 403


def import_status(caller: Caller, name: str) -> int:
    """History takes a key always."""
    if not caller.live:
        return 401
    return 200 if caller.holds("track:events") and caller.reaches(name) else 403


def debug_status(caller: Caller, website: str | None) -> int:
    """What was received is data, so it takes a key that reads."""
    if not caller.live:
        return 401
    if not caller.holds("read:data"):
        return 403
    if website is None:
        return 200 if caller.website else 400
    return 200 if caller.reaches(website) else 403


@pytest.mark.parametrize("path", [*EXAMPLES, *MIXED_BODIES, "/px.jpg"])
def test_every_key_sends_where_it_may_and_nowhere_else(collector: Collector, path: str) -> None:
    body = MIXED_BODIES.get(path) or next(iter(EXAMPLES.get(path, {"": None}).values()))
    method = "POST" if body else "GET"
    wrong = []
    for caller in collector.callers:
        for website in SUBJECTS:
            named = f"website_id={website}&" if website else ""
            more = "type=track&name=a" if path == "/px.jpg" else ""
            for headers in headers_with_key(caller):
                before = len(collector.producer.sent)
                reply = request_once(collector.app, method, f"{path}?{named}{more}", body, headers)
                sent = collector.producer.sent[before:]
                expected = tracking_status(caller, website)
                allowed = {website or caller.website or UNNAMED.get(caller.organization)}
                subjects = {e.subject_id for request in sent for e in request.envelopes}
                if reply.status != expected or bool(sent) != (expected == 200):
                    wrong.append(f"{caller.name} {website}: {reply.status}, not {expected}")
                elif not subjects <= allowed:
                    wrong.append(f"{caller.name} {website}: sent for {subjects}")

    assert wrong == [], "\n".join(wrong)


def test_every_key_imports_into_what_it_may_and_nothing_else(collector: Collector) -> None:
    line = b'{"name": "a", "timestamp": %d}\n' % (NOW - 1000)
    wrong = []
    for caller in collector.callers:
        for name in ("imp_shop", "imp_rival", "nowhere"):
            for headers in headers_with_key(caller):
                reply = request_once(
                    collector.app, "POST", f"/import?import_id={name}", line, headers
                )
                if reply.status != import_status(caller, name):
                    wrong.append(f"{caller.name} {name}: {reply.status} {reply.body[:100]!r}")

    assert wrong == [], "\n".join(wrong)


def test_only_keys_that_read_see_what_was_received(collector: Collector) -> None:
    wrong = []
    for caller in collector.callers:
        for website in SUBJECTS:
            query = f"?website_id={website}" if website else ""
            for headers in headers_with_key(caller):
                reply = request_once(collector.app, "GET", f"/debug{query}", None, headers)
                if reply.status != debug_status(caller, website):
                    wrong.append(f"{caller.name} {website}: {reply.status} {reply.body[:100]!r}")

    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: one.product)
def test_every_key_sends_by_other_products_trackers_where_it_may(
    collector: Collector, protocol: Protocol
) -> None:
    wrong = []
    for route, caller, alias in product(protocol.routes, collector.callers, ALIASES):
        headers = next(headers_with_key(caller))
        collector.producer.sent.clear()
        send_example(collector.app, protocol, route, alias, headers)
        subjects = {e.subject_id for sent in collector.producer.sent for e in sent.envelopes}
        allowed = tracking_status(caller, ALIASES[alias]) == 200
        if caller.text is not None and parse_key(caller.text) is None:
            allowed = alias == "of-shop"  # another product's token: the alias is enough
        if subjects - {"shop"} or (subjects and not allowed):
            wrong.append(f"{route.path} {caller.name} {alias}: {subjects}")
        if caller.text is None and alias == "of-shop" and route.path not in STORES_NOTHING | SIGNED:
            assert subjects == {"shop"}, route.path

    assert wrong == [], "\n".join(wrong)


def send_example(
    app: HttpMiddleware, protocol: Protocol, route: Route, alias: str, headers: Mapping[str, str]
) -> Reply:
    """Send the example of a route, with another alias."""
    own = {name: text.replace(EXAMPLE_ALIAS, alias) for name, text in route.example.headers.items()}
    example, method = route.example, route.methods[-1]
    text = "" if example.body is None else example.body
    body = text if isinstance(text, str) else msgspec.json.encode(text).decode()
    query = f"?{example.query}" if example.query else ""
    path = (protocol.paths(route)[0] + query).replace(EXAMPLE_ALIAS, alias)
    sent = body.replace(EXAMPLE_ALIAS, alias).encode() or None
    return request_once(app, method, path, sent, {**own, **headers})


def test_the_model_knows_every_documented_route() -> None:
    documented = {*EXAMPLES, *MIXED_BODIES, "/px.jpg", "/import", "/debug"}
    scripts = {o.path for o in collector_api().operations if o.path.endswith(".js")}

    assert {o.path for o in collector_api().operations} == documented | scripts | OPEN
