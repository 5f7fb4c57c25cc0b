"""Whatever a route of another product is sent, the reply is no 5xx, and what is stored is valid."""

import gzip
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from ingest.protocols.all_protocols import PROTOCOLS
from ingest.protocols.protocol import EXAMPLE_ALIAS, Protocol, Route
from tests.ingest.in_memory_collector import InMemoryCollector

VALUES: tuple[Any, ...] = (
    None, True, 7, -1, 1e300, "", "x" * 70_000, [], {}, [[]], {"a": {"b": [None]}}, "NaN",
    "2026-13-45", "\x00", "🦊", ["a", 1], {"$set": 7}, "http://[", "=&=", 10**30,
)  # fmt: skip
BODIES = (
    b"", b"{", b"[]", b"{}", b"null", b"7", b'"a"', b"[7]", b"[null]", b"\xff\xfe", b"\x1f\x8b\x08",
    gzip.compress(b"{}")[:-4], b"[" * 1_000, b"data=", b"data=%%%", b"data=e30",
    b"a=" + b"b" * 9_000,
    b'{"batch":[[]]}', b'{"events":{}}', b'{"requests":["?"]}', b'{"data":[7]}',
)  # fmt: skip
ROUTES = [(protocol, route) for protocol in PROTOCOLS for route in protocol.routes]


def changed(value: Any, chance: random.Random) -> Any:
    """The value with one member, at any depth, replaced by another or left out."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        name = chance.choice(list(value))
        if chance.random() < 0.1:
            return {key: one for key, one in value.items() if key != name}
        return {**value, name: changed(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        index = chance.randrange(len(value))
        return [*value[:index], changed(value[index], chance), *value[index + 1 :]]
    return chance.choice(VALUES)


def hostile_bodies(route: Route) -> Iterator[bytes]:
    yield from BODIES
    chance = random.Random(route.path)
    if isinstance(route.example.body, dict | list):
        for _ in range(60):
            yield json.dumps(changed(route.example.body, chance)).encode()


@pytest.mark.parametrize(
    ("protocol", "route"), ROUTES, ids=[f"{protocol.product}{one.path}" for protocol, one in ROUTES]
)
def test_no_request_fails_the_collector(
    collector: InMemoryCollector, protocol: Protocol, route: Route
) -> None:
    collector.add_alias(protocol.product, EXAMPLE_ALIAS)
    collector.set_limits("acme", collect=1_000_000)
    behind_prefix = next(one for one in protocol.paths(route) if one.startswith(protocol.prefix))
    path = f"{behind_prefix}?{route.example.query}"

    replies = [
        (body, collector.post(path, body, headers=dict(route.example.headers)))
        for body in hostile_bodies(route)
        if "POST" in route.methods
    ]
    replies += [(b"", collector.get(f"{behind_prefix}?{query}")) for query in (
        "", "&&&", "idsite=&rec=1", "data=%7B", "e=ue&ue_px=%%%&aid=x", "_=" + "x" * 5_000,
    ) if "GET" in route.methods]  # fmt: skip

    assert [(body[:200], reply.body) for body, reply in replies if reply.status >= 500] == []
