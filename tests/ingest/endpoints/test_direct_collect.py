"""Requests that are accepted in one call get the same response, and are published alike."""

import asyncio
import gc
import re
import weakref
from datetime import UTC, datetime
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from ingest.publishing.partition_queue import DeliveryStatus
from schemas.http.limits import SMALL_LIMIT
from schemas.registry import Snapshot
from tests.ingest.in_memory_collector import NOW, FixedSnapshotSource, InMemoryCollector
from tests.ingest.server.in_process_connection import InProcessConnection, a_post, exchange

PLAIN = b'{"name": "plain", "anonymousId": "v1"}'
DAY_BEFORE = datetime.fromtimestamp(NOW / 1000 - 86_400, UTC).isoformat().encode()
VARYING = re.compile(rb'x-request-id: [0-9a-f]{16}|"receipt":"[^"]+"|remaining: \d+')


def without_ids(response: bytes) -> bytes:
    return VARYING.sub(b"", response)


@pytest.mark.parametrize(
    "body",
    [
        PLAIN,
        b'[{"name": "a", "anonymousId": "v1"}, {"name": "b", "websiteId": "shop"}]',
        b'{"name": "without a visitor"}',
        b'[{"name": "a", "timestamp": %d}, {"name": "b", "timestamp": %d.5}]'
        % (NOW - 9, NOW // 1000),
        b'{"name": "a", "timestamp": "%b"}' % DAY_BEFORE,
        b'{"name": "a", "timestamp": %d, "sentAt": %d}' % (NOW - 9, NOW - 8),
        b' {"name": "half of a character \\ud83d", "timestamp": %d}' % NOW,
        b'{"name": "\xc3\xa4", "properties": {"a": [1, {"b": null}]}, "eventId": "e1"}',
    ],
)
def test_the_response_and_what_is_published_are_those_of_the_endpoint(
    collector: InMemoryCollector, body: bytes
) -> None:
    (first, second), ran = exchange(collector, [a_post(body)] * 2)

    assert ran == 1
    assert without_ids(second) == without_ids(first)
    assert second.startswith(b"HTTP/1.1 200 OK\r\n")
    assert collector.producer.sent[0] == collector.producer.sent[1]
    limits = [int(text) for text in re.findall(rb"remaining: (\d+)", first + second)]
    assert limits[0] - limits[1] == 1
    assert len(set(re.findall(rb"x-request-id: (\w+)", first + second))) == 2


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"name": "a", "strange": 1}', 200),
        (b'{"name": "a", "anonymous_id": "v"}', 200),
        (b'{"name": "a", "timestamp": 1}', 200),
        (b'{"name": "a", "sentAt": %d}' % (NOW - 3_600_000), 200),
        (b'{"name": "a", "time_on_page": 90000}', 200),
        (b'{"name": "a", "sentAt": "soon"}', 400),
        (b'{"name": "a", "timestamp": %d}' % (NOW + 3_600_000), 200),
        (b'{"name": "a", "timestamp": "2001-01-01T00:00:00Z"}', 200),
        (b'{"name": "a", "timestamp": "soon"}', 400),
        (b'[{"name": "a"}, {"name": "b", "timestamp": 1}]', 200),
        (b'[{"name": "a"}, {"name": "b", "websiteId": "blog"}]', 200),
        (b'[{"name": "a"}, {"name": 1}]', 200),
        (b'{"name": "a", "websiteId": "blog"}', 400),
        (b'{"name": 1}', 400),
        (b"{no", 400),
        (b'{"name": "large", "properties": {"text": "%b"}}' % (b"x" * 5_000), 200),
    ],
)
def test_an_unusual_body_is_left_to_the_endpoint(
    collector: InMemoryCollector, body: bytes, status: int
) -> None:
    [[response], _] = exchange(collector, [a_post(body)])

    (_, _, later), ran = exchange(collector, [a_post(PLAIN), a_post(PLAIN), a_post(body)])

    assert ran == 2
    assert response.startswith(b"HTTP/1.1 %d" % status)
    assert without_ids(later) == without_ids(response)


@pytest.mark.parametrize(
    "more",
    [
        ("X-Request-Id: mine",),
        ("X-Forwarded-For: 198.51.100.1",),
        ("Idempotency-Key: i1",),
        ("Content-Encoding: identity",),
    ],
)
def test_an_unusual_head_is_left_to_the_endpoint(
    collector: InMemoryCollector, more: tuple[str, ...]
) -> None:
    responses, ran = exchange(collector, [a_post(PLAIN, *more)] * 3)

    assert ran == 3
    assert {response[:15] for response in responses} == {b"HTTP/1.1 200 OK"}


def test_requests_with_the_website_in_the_item_or_odd_parameters_are_left_to_the_endpoint(
    collector: InMemoryCollector,
) -> None:
    named = b'{"name": "a", "websiteId": "shop"}'

    assert exchange(collector, [a_post(named, target="/track")] * 3)[1] == 3
    assert exchange(collector, [a_post(PLAIN, target="/track?website_id=shop&x=1")] * 3)[1] == 3


KEYED_BODIES = [
    PLAIN,
    b'{"name": "without a visitor"}',
    b'[{"name": "a", "eventId": "e1", "anonymousId": "v1"}, {"name": "b"}]',
    b'{"name": "a", "websiteId": "shop", "anonymousId": "v1"}',
]


def keyed(collector: InMemoryCollector, body: bytes, key: str, target: str = "/track") -> bytes:
    return a_post(body, f"Authorization: Bearer {collector.keys[key]}", target=target)


@pytest.mark.parametrize("body", KEYED_BODIES)
@pytest.mark.parametrize(
    ("key", "target"),
    [
        ("acme-shop", "/track"),
        ("acme", "/track?website_id=shop"),
        ("acme", "/track"),
        ("solo", "/track"),
    ],
)
def test_a_request_with_a_key_is_accepted_and_published_as_by_the_endpoint(
    collector: InMemoryCollector, body: bytes, key: str, target: str
) -> None:
    if key == "solo":
        body = body.replace(b"shop", b"solo")
    (first, second), ran = exchange(collector, [keyed(collector, body, key, target)] * 2)

    assert ran == 1
    assert without_ids(second) == without_ids(first)
    assert second.startswith(b"HTTP/1.1 200 OK\r\n")
    assert collector.producer.sent[0] == collector.producer.sent[1]
    limits = [int(text) for text in re.findall(rb"remaining: (\d+)", first + second)]
    assert limits[0] - limits[1] == 1


def test_a_key_of_an_organization_sends_for_each_of_its_websites_and_for_no_other(
    collector: InMemoryCollector,
) -> None:
    bodies = [
        b'{"name": "a", "websiteId": "%b"}' % website
        for website in (b"shop", b"blog", b"shop", b"solo", b"nowhere", b"")
    ]

    responses, ran = exchange(collector, [keyed(collector, body, "acme") for body in bodies])

    assert [response[9:12] for response in responses] == [b"200"] * 3 + [b"400"] * 3
    assert ran == 1 + 3
    assert [request.envelopes[0].subject_id for request in collector.producer.sent] == [
        "shop", "blog", "shop",
    ]  # fmt: skip


def test_a_key_that_expires_is_refused_from_then_on(
    collector: InMemoryCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = collector.registry.snapshot
    keys = {id_: replace(key, expires_at=NOW + 1) for id_, key in snapshot.keys.items()}
    collector.registry.snapshot = replace(snapshot, keys=MappingProxyType(keys))
    [key] = [key for key in keys.values() if key.website_id == "shop"]

    async def run() -> list[bytes]:
        connection = InProcessConnection(collector)
        post = keyed(collector, PLAIN, "acme-shop")
        responses = [await connection.send(post)]
        snapshot.key_uses.clear()
        responses.append(await connection.send(post))
        assert connection.paths == ["/track"]
        assert snapshot.key_uses == {key.id: NOW}
        monkeypatch.setattr("tests.ingest.in_memory_collector.NOW", NOW + 1)
        return [*responses, await connection.send(post)]

    responses = asyncio.run(run())
    assert [response[9:12] for response in responses] == [b"200", b"200", b"401"]


def test_a_key_that_is_revoked_during_a_request_is_refused_in_the_next(
    collector: InMemoryCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def newer_than(source: FixedSnapshotSource, snapshot: Snapshot, _ids: object) -> bool:
        revoked = {id_: replace(key, revoked_at=NOW) for id_, key in snapshot.keys.items()}
        source.snapshot = replace(snapshot, keys=MappingProxyType(revoked))
        return True

    monkeypatch.setattr(FixedSnapshotSource, "newer_than", newer_than)
    first = b'[{"name": "a"}, {"name": "b", "websiteId": "nowhere"}]'

    posts = [keyed(collector, body, "acme") for body in (first, PLAIN)]
    responses, ran = exchange(collector, posts)

    assert [response[9:12] for response in responses] == [b"200", b"401"]
    assert ran == 2


def test_a_clock_that_was_wrong_once_moves_no_later_request(collector: InMemoryCollector) -> None:
    skewed = b'{"name": "a", "anonymousId": "v1", "timestamp": %d, "sentAt": %d}' % (
        NOW - 7_200_000, NOW - 7_200_000,
    )  # fmt: skip

    (_, later), ran = exchange(collector, [a_post(skewed), a_post(PLAIN)])

    assert ran == 1
    assert b'"adjusted"' not in later
    offsets = [request.envelopes[0].clock_offset_ms for request in collector.producer.sent]
    assert offsets == [7_200_000, 0]


def test_a_full_limit_is_refused_and_counted_by_the_endpoint(collector: InMemoryCollector) -> None:
    collector.set_limits("acme", collect=4)

    responses, ran = exchange(collector, [a_post(PLAIN)] * 6)

    passed = [response for response in responses if response.startswith(b"HTTP/1.1 200")]
    refused = [response for response in responses if response.startswith(b"HTTP/1.1 429")]
    assert len(passed) + len(refused) == 6
    assert len(passed) == len(collector.producer.sent)
    assert ran == 1 + len(refused)
    assert refused


def test_a_changed_registry_is_looked_at_again(collector: InMemoryCollector) -> None:
    async def run() -> int:
        connection = InProcessConnection(collector)
        for _ in range(2):
            await connection.send(a_post(PLAIN))
        collector.set_limits("acme", collect=10)
        responses = [await connection.send(a_post(PLAIN)) for _ in range(2)]
        assert all(b"x-ratelimit-limit: 5\r\n" in response for response in responses)
        return len(connection.paths)

    assert asyncio.run(run()) == 2


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (DeliveryStatus.UNKNOWN, b"OUTCOME_UNKNOWN"),
        (DeliveryStatus.NOT_SENT, b"SERVICE_UNAVAILABLE"),
    ],
)
def test_without_an_acknowledgement_the_response_is_the_error_of_the_endpoint(
    collector: InMemoryCollector, outcome: DeliveryStatus, code: bytes
) -> None:
    exchange(collector, [a_post(PLAIN)])
    collector.producer.outcome = outcome
    [[expected], _] = exchange(collector, [a_post(PLAIN)])
    collector.producer.outcome = DeliveryStatus.ACKNOWLEDGED

    async def run() -> bytes:
        connection = InProcessConnection(collector)
        await connection.send(a_post(PLAIN))
        collector.producer.outcome = outcome
        response = await connection.send(a_post(PLAIN))
        assert connection.paths == ["/track"]
        return response

    response = asyncio.run(run())
    assert response.startswith(b"HTTP/1.1 503")
    assert code in response
    assert without_ids(response) == without_ids(expected)
    listed = collector.recent.latest("shop")[0]
    assert listed.error is not None
    assert listed.error.code.encode() == code


def test_what_the_queue_rejects_is_the_error_of_the_endpoint(collector: InMemoryCollector) -> None:
    async def run() -> tuple[bytes, bytes]:
        connection = InProcessConnection(collector)
        await connection.send(a_post(PLAIN))
        collector.producer.unavailable_reason = "away"
        refused = await connection.send(a_post(PLAIN))
        collector.producer.unavailable_reason = None
        passed = await connection.send(a_post(PLAIN))
        assert connection.paths == ["/track"]
        return refused, passed

    refused, passed = asyncio.run(run())
    assert refused.startswith(b"HTTP/1.1 503")
    assert b"SERVICE_UNAVAILABLE" in refused
    assert b"retry-after: " in refused
    assert passed.startswith(b"HTTP/1.1 200")


def test_a_body_in_two_segments_gets_the_same_response(collector: InMemoryCollector) -> None:
    post = a_post(PLAIN)

    async def run() -> list[bytes]:
        connection = InProcessConnection(collector)
        return [
            without_ids(await connection.send(*parts))
            for parts in ((post,), (post,), (post[:-5], post[-5:]))
        ]

    responses = asyncio.run(run())
    assert len(set(responses)) == 1
    assert b"\r\ncache-control: no-store\r\n" in responses[0]


def test_an_idle_connection_keeps_no_old_registry(collector: InMemoryCollector) -> None:
    async def run() -> None:
        connection = InProcessConnection(collector)
        await connection.send(a_post(PLAIN))
        await connection.send(a_post(PLAIN))
        assert connection.paths == ["/track"]
        old = weakref.ref(collector.registry.snapshot)
        collector.set_limits("acme", collect=1_000)
        gc.collect()
        assert old() is None

    asyncio.run(run())


def test_small_limits_that_a_server_counts_are_left_to_the_endpoint(
    collector: InMemoryCollector,
) -> None:
    collector.app.admission._limiter.reserves = True
    _, large = exchange(collector, [a_post(PLAIN)] * 2)
    collector.set_limits("acme", collect=SMALL_LIMIT)
    _, small = exchange(collector, [a_post(PLAIN)] * 2)

    assert (large, small) == (1, 2)
