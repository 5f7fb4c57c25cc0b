"""Any requests on one connection get the same from the shortest path as from the endpoint alone.

The same segments are sent to two collectors: a connection of one remembers heads, as it does in
service, and that of the other forgets each, so that every request runs the application. Compared
are all bytes that are written, what is passed to Kafka and remembered, and what is counted.
"""

import asyncio
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from ingest.publishing.partition_queue import DeliveryStatus
from ingest.server.http_protocol import CollectorProtocol
from schemas.telemetry.instruments import ITEMS
from tests.ingest.in_memory_collector import NOW, InMemoryCollector, in_memory_collector
from tests.ingest.server.in_process_connection import InProcessConnection

VARYING = re.compile(
    rb"x-request-id: [0-9a-f]{16}\r\n"
    rb"|(?<=x-ratelimit-remaining: 6000\r\n)x-ratelimit-reset: \d+\r\n"
)
"""Request ids, and the limit in responses to what is no request, which has the machine's time."""
DAY_MS = 86_400_000

BODIES = (
    b'{"name": "plain", "anonymousId": "v1"}',
    b'{"name": "plain", "anonymousId": "v2"}',
    b'[{"name": "a", "anonymousId": "v1"}, {"name": "b", "websiteId": "shop"}]',
    b'{"name": "without a visitor"}',
    b' {"name": "half \\ud83d", "timestamp": %d}\n' % NOW,
    b'{"name": "\xc3\xa4", "properties": {"a": [1, {"b": null}]}, "eventId": "e1"}',
    b'{"name": "\xff"}',
    b'{"name": "as text", "timestamp": "2026-11-18T11:00:00Z"}',
    b'{"name": "no time", "timestamp": "yesterday"}',
    b'{"name": "old", "timestamp": %d}' % (NOW - 8 * DAY_MS),
    b'{"name": "early", "timestamp": %d}' % (NOW + DAY_MS),
    b'{"name": "unknown", "strange": 1}',
    b'{"name": "renamed", "anonymous_id": "v"}',
    b'[{"name": "a"}, {"name": 1}]',
    b'{"name": "elsewhere", "websiteId": "blog"}',
    b'[{"name": "a"}, {"name": "elsewhere", "websiteId": "blog"}]',
    b'{"name": 1}',
    b"{no",
    b"[]",
    b"",
    b"[" + b",".join([b'{"name":"x"}'] * 501) + b"]",
    b'{"name": "large", "properties": {"text": "%b"}}' % (b"x" * 5_000),
    b'{"name": "deep", "properties": {"a": %b}}' % (b"[" * 900 + b"]" * 900),
    b"\x1f\x8b\x08\x00",
)
TARGETS = (
    "/track?website_id=shop",
    "/track?client_id=shop",
    "/track?website_id=shop&x=1",
    "/track?website_id=blog",
    "/track?website_id=nobody",
    "/track",
    "/vitals?website_id=shop",
    "/outgoing?website_id=shop",
    "/nowhere?website_id=shop",
)
HEADERS = (
    "Origin: https://shop.example/%25",
    "Origin: https://evil.example",
    "User-Agent: one",
    "User-Agent: two",
    "Accept-Language: de",
    "Accept-Language: en",
    "X-Request-Id: mine",
    "X-Forwarded-For: 198.51.100.1",
    "Forwarded: for=198.51.100.1",
    "Idempotency-Key: i1",
    "Content-Encoding: identity",
    "Content-Encoding: gzip",
    "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "X-Api-Key: wrong",
    "Tidemark-Client-Id: blog",
    "Connection: close",
    "Expect: 100-continue",
    "Host: y",
    "Cookie: a=b",
)
USUAL = st.just((TARGETS[0], ("Host: x", "User-Agent: one", "Origin: https://shop.example")))
HEADS = USUAL | st.tuples(
    st.sampled_from(TARGETS),
    st.lists(st.sampled_from(HEADERS), max_size=4).map(lambda more: ("Host: x", *more)),
)


class Segments(Struct, frozen=True):
    """What arrives at once, and how often."""

    data: Sequence[bytes]
    times: int = 1


class Change(Struct, frozen=True):
    """Something that happens between requests."""

    what: str
    value: Any


def a_request(head: tuple[str, Sequence[str]], body: bytes) -> bytes:
    target, lines = head
    sent = f"Content-Length: {len(body)}"
    return "\r\n".join((f"POST {target} HTTP/1.1", *lines, sent, "", "")).encode() + body


REQUESTS = st.builds(a_request, HEADS, st.sampled_from(BODIES[:6]) | st.sampled_from(BODIES))
CUT = st.builds(
    lambda data, at: (data[: at % len(data)], data[at % len(data) :]), REQUESTS, st.integers(0, 999)
)
SEGMENTS = st.builds(
    Segments,
    st.tuples(REQUESTS)
    | CUT
    | st.lists(REQUESTS, min_size=2, max_size=3).map(lambda several: (b"".join(several),)),
    st.integers(1, 3),
)
CHANGES = st.sampled_from(
    (
        Change("limit", 4),
        Change("limit", 20),
        Change("outcome", DeliveryStatus.UNKNOWN),
        Change("outcome", DeliveryStatus.NOT_SENT),
        Change("outcome", DeliveryStatus.ACKNOWLEDGED),
        Change("unavailable", "away"),
        Change("unavailable", None),
        Change("too large", True),
        Change("too large", False),
        Change("origins", ("https://shop.example",)),
        Change("drain", True),
    )
)
STEPS = st.lists(SEGMENTS | SEGMENTS | SEGMENTS | CHANGES, min_size=1, max_size=8)


class ForgetfulProtocol(CollectorProtocol):
    """A connection that parses each head, and runs the application for each request."""

    def data_received(self, data: bytes) -> None:
        self.known_head = None
        super().data_received(data)


class Seen(Struct):
    """All that can be seen of a collector."""

    written: Sequence[bytes]
    closed: bool
    published: Sequence[Any]
    recent: Sequence[Any]
    responses: dict[tuple[str, str], float]
    items: dict[str, float]


def seen(
    protocol: type[CollectorProtocol], collector: InMemoryCollector, steps: Sequence[Any]
) -> tuple[Seen, int, int]:
    """What is seen after these steps; and the requests that got a response, and that ran it."""

    async def run() -> tuple[Seen, int, int]:
        before = items_by_outcome()
        connection = InProcessConnection(collector, protocol)
        written = []
        for step in steps:
            if isinstance(step, Change):
                change(connection, collector, step)
                continue
            written += [
                VARYING.sub(b"", await connection.send(segment))
                for segment in [*step.data] * step.times
                if not connection.wire.closed
            ]
        after = items_by_outcome()
        [family] = collector.app.requests.collect()
        answered = [s for s in family.samples if s.name.endswith("_count")]
        responses = {(s.labels["route"], s.labels["status"]): s.value for s in answered}
        found = Seen(
            written,
            connection.wire.closed,
            collector.producer.sent,
            [collector.recent.latest(website) for website in ("shop", "blog")],
            responses,
            {outcome: value - before.get(outcome, 0) for outcome, value in after.items()},
        )
        return found, int(sum(responses.values())), len(connection.paths)

    return asyncio.run(run())


def items_by_outcome() -> dict[str, float]:
    found: dict[str, float] = {}
    for family in ITEMS.collect():
        for sample in family.samples:
            if sample.name.endswith("_total"):
                outcome = sample.labels["outcome"]
                found[outcome] = found.get(outcome, 0) + sample.value
    return found


def change(connection: InProcessConnection, collector: InMemoryCollector, step: Change) -> None:
    if step.what == "limit":
        collector.set_limits("acme", collect=step.value)
    elif step.what == "outcome":
        collector.producer.outcome = step.value
    elif step.what == "unavailable":
        collector.producer.unavailable_reason = step.value
    elif step.what == "too large":
        collector.producer.too_large = {"events"} if step.value else set()
    elif step.what == "origins":
        snapshot = collector.registry.snapshot
        shop = msgspec.structs.replace(snapshot.websites["shop"], allowed_origins=step.value)
        collector.registry.snapshot = msgspec.structs.replace(
            snapshot, websites={**snapshot.websites, "shop": shop}
        )
    else:
        connection.drain.begun = step.value


def both(steps: Sequence[Any]) -> Iterator[tuple[Seen, int, int]]:
    """What is seen of two collectors with the same registry and salts."""
    with tempfile.TemporaryDirectory() as folder:
        collectors = [in_memory_collector(Path(folder)) for _ in range(2)]
        collectors[1].registry.snapshot = collectors[0].registry.snapshot
        protocols = (CollectorProtocol, ForgetfulProtocol)
        for protocol, collector in zip(protocols, collectors, strict=True):
            yield seen(protocol, collector, steps)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_both_paths_answer_publish_and_count_alike(steps: Sequence[Any]) -> None:
    (direct, _, _), (endpoint, answered, ran) = both(steps)

    assert direct == endpoint
    assert ran <= answered


def test_the_shortest_path_is_among_what_is_compared() -> None:
    usual = a_request((TARGETS[0], ("Host: x",)), BODIES[0])

    (_, answered, ran), (_, _, ran_endpoint) = both([Segments((usual,), 5)])

    assert (answered, ran, ran_endpoint) == (5, 1, 5)
