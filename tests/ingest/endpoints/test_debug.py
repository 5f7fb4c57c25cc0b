"""GET /debug: accepted and rejected items of a website, once and as a stream."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Message

from ingest.endpoints import debug, debug_lines
from ingest.publishing import recent_requests
from ingest.publishing.recent_requests import RecentRequest, RecentRequests
from schemas.errors import Unavailable
from tests.asgi_client import http_scope, request_once, send_request
from tests.ingest.in_memory_collector import InMemoryCollector, in_memory_collector

AT = "2026-11-18T11:06:40.000Z"


@pytest.fixture
def collector(tmp_path: Path) -> InMemoryCollector:
    return in_memory_collector(tmp_path)


def debug_items(collector: InMemoryCollector, website: str = "shop", key: str = "reader") -> Any:
    headers = {"x-api-key": collector.keys[key]}
    reply = request_once(collector.app, "GET", f"/debug?website_id={website}", headers=headers)
    assert (reply.status, reply.headers["cache-control"]) == (200, "no-store"), reply.body
    return reply.json["items"]


def test_accepted_items_are_listed_newest_first(collector: InMemoryCollector) -> None:
    headers = {
        "user-agent": "Firefox",
        "origin": "https://shop.example",
        "cookie": "secret=1",
        "x-forwarded-for": "198.51.100.9",
    }
    first = collector.post("/track?website_id=shop", {"name": "a"}, headers=headers).json
    collector.post("/track?website_id=blog", {"name": "other"})
    second = collector.post("/track?website_id=shop", [{"name": "b"}, {"name": "c"}]).json

    origin = {"address": "203.0.113.0", "userAgent": "", "headers": {}, "byServer": False}
    shared = {"receivedAt": AT, "accepted": True, "type": "custom_event"}
    assert debug_items(collector) == [
        {**shared, "receipt": second["receipt"], "index": 1, **origin, "item": {"name": "c"}},
        {**shared, "receipt": second["receipt"], "index": 0, **origin, "item": {"name": "b"}},
        {
            **shared,
            "receipt": first["receipt"],
            "index": 0,
            **origin,
            "userAgent": "Firefox",
            "headers": {"origin": "https://shop.example"},
            "item": {"name": "a"},
        },
    ]


def test_rejects_are_listed_with_their_reason(collector: InMemoryCollector) -> None:
    collector.post("/track?website_id=shop", [{"name": "a"}, {"nam": "b"}])

    rejected, accepted = debug_items(collector)

    assert rejected == {
        "receivedAt": AT, "accepted": False, "path": "/track",
        "index": 1, "code": "VALIDATION_ERROR", "message": "'name' is required",
    }  # fmt: skip
    assert accepted["item"] == {"name": "a"}


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "code"),
    [
        ("/track?website_id=shop", b"{", {}, 400, "VALIDATION_ERROR"),
        ("/batch?client_id=shop", {}, {}, 400, "VALIDATION_ERROR"),
        ("/vitals", {}, {"databuddy-client-id": "shop"}, 400, "VALIDATION_ERROR"),
        ("/track?website_id=shop", {"name": "a"}, {"x-api-key": "tm_no_key"}, 401, "AUTH_REQUIRED"),
        ("/track?website_id=shop", {"name": "a"}, {"content-encoding": "br"}, 400,
         "VALIDATION_ERROR"),
    ],
)  # fmt: skip
def test_a_refused_request_is_listed(
    collector: InMemoryCollector,
    path: str,
    body: object,
    headers: Mapping[str, str],
    status: int,
    code: str,
) -> None:
    reply = collector.post(path, body, headers=headers)

    assert debug_items(collector) == [
        {
            "receivedAt": AT,
            "accepted": False,
            "path": path.partition("?")[0],
            "status": status,
            "code": code,
            "message": reply.json["message"],
        }
    ]


def test_each_item_of_a_refused_batch_has_its_reason(collector: InMemoryCollector) -> None:
    collector.post("/track?website_id=shop", [{"name": ""}, {"name": 7}])

    assert [(line.get("index"), line["code"]) for line in debug_items(collector)] == [
        (None, "NO_ITEM_ACCEPTED"),
        (1, "VALIDATION_ERROR"),
        (0, "VALIDATION_ERROR"),
    ]


def test_the_first_of_many_rejects_are_listed_with_truncated_messages(
    collector: InMemoryCollector,
) -> None:
    bad = {"path": "/", "metricName": "x" * 1_900, "metricValue": 1}

    assert collector.post("/vitals?client_id=shop", [bad] * 500).status == 400

    error, others, *items = debug_items(collector)
    assert {len(error["message"]), *(len(item["message"]) for item in items)} == {256}
    assert (others["count"], [item["index"] for item in items]) == (450, [*range(49, -1, -1)])
    [request] = collector.recent.latest("shop")
    assert request.size == 512 + 50 * (192 + 256)


def test_requests_refused_without_kafka_are_listed(collector: InMemoryCollector) -> None:
    collector.producer.unavailable_reason = "Kafka is away"
    collector.post("/track?website_id=shop", {"name": "a"})

    assert [(line["status"], line["message"]) for line in debug_items(collector)] == [
        (503, "Kafka is away")
    ]


def test_preflight_requests_are_not_listed(collector: InMemoryCollector) -> None:
    asking = {"origin": "https://shop.example", "access-control-request-method": "POST"}

    assert (
        request_once(collector.app, "OPTIONS", "/track?website_id=shop", headers=asking).status
        == 204
    )
    assert debug_items(collector) == []


def test_items_of_several_websites_are_listed_at_their_own(collector: InMemoryCollector) -> None:
    collector.post("/track", [{"name": "a", "websiteId": "shop"}, {"name": "b"}], key="acme")

    assert [line["item"]["name"] for line in debug_items(collector)] == ["a"]
    assert [
        (line["item"]["name"], line["byServer"]) for line in debug_items(collector, "acme")
    ] == [("b", True)]


def test_items_of_large_requests_are_counted_only(collector: InMemoryCollector) -> None:
    collector.post("/track?website_id=shop", [{"name": "a" * 200}] * 100)

    [line] = debug_items(collector)

    assert (line["count"], line["message"], "item" in line) == (
        100,
        debug_lines.ITEMS_OMITTED,
        False,
    )


@pytest.mark.parametrize(
    ("key", "website", "status"),
    [(None, "shop", 401), ("acme", "shop", 403), ("reader", "solo", 403), ("reader", "x", 403),
     ("reader", "", 400)],
)  # fmt: skip
def test_only_keys_that_may_read_the_website_see_its_items(
    collector: InMemoryCollector, key: str | None, website: str, status: int
) -> None:
    headers = {"x-api-key": collector.keys[key]} if key else {}

    assert (
        request_once(collector.app, "GET", f"/debug?website_id={website}", headers=headers).status
        == status
    )


# What is kept is bounded.


def an_event(size: int = 0) -> RecentRequest:
    return RecentRequest(0, "events", 1, b"x" * size, "r")


def test_requests_per_website_are_bounded() -> None:
    remembered = RecentRequests()
    for _ in range(recent_requests.MAX_REQUESTS + 5):
        remembered.add("shop", an_event())
    remembered.add("blog", an_event())

    assert (len(remembered.latest("shop")), len(remembered.latest("blog"))) == (
        recent_requests.MAX_REQUESTS,
        1,
    )


def test_bytes_per_website_are_bounded() -> None:
    remembered = RecentRequests()
    size = recent_requests.MAX_WEBSITE_BYTES // 4
    for _ in range(5):
        remembered.add("shop", an_event(size))

    assert len(remembered.latest("shop")) == 3  # each costs a little more than its items


def test_the_website_that_was_silent_longest_is_evicted_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        recent_requests, "MAX_TOTAL_BYTES", 3 * recent_requests.REQUEST_OVERHEAD_BYTES
    )
    remembered = RecentRequests()
    for website in ("shop", "blog", "shop", "solo"):
        remembered.add(website, an_event())

    assert {website: len(remembered.latest(website)) for website in ("shop", "blog", "solo")} == {
        "shop": 2,
        "blog": 0,
        "solo": 1,
    }


# Live


class Following(Struct):
    """Somebody who reads a stream."""

    lines: asyncio.Queue[bytes]
    leave: asyncio.Event
    ended: "asyncio.Task[None]"

    async def next(self) -> Any:
        text = await asyncio.wait_for(self.lines.get(), 5)
        return json.loads(text) if text.strip() else None


@asynccontextmanager
async def following(collector: InMemoryCollector) -> AsyncIterator[Following]:
    headers = {"x-api-key": collector.keys["reader"]}
    scope = http_scope("GET", "/debug?website_id=shop&follow=1", headers)
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    leave = asyncio.Event()

    async def receive() -> Message:
        await leave.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        for line in message.get("body", b"").splitlines(keepends=True):
            lines.put_nowait(line)

    ended = asyncio.create_task(collector.app(scope, receive, send))
    yield Following(lines, leave, ended)
    leave.set()
    await asyncio.wait_for(ended, 5)


async def post(collector: InMemoryCollector, *names: str) -> None:
    body = json.dumps([{"name": name} for name in names]).encode()
    await send_request(collector.app, "POST", "/track?website_id=shop", [body])


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(test())


def test_a_follower_gets_past_and_then_new_requests(collector: InMemoryCollector) -> None:
    async def test() -> None:
        await post(collector, "a", "b")
        async with following(collector) as follower:
            assert [(await follower.next())["item"]["name"] for _ in "ab"] == ["a", "b"]
            await post(collector, "c", "d")
            assert [(await follower.next())["item"]["name"] for _ in "cd"] == ["c", "d"]

    run(test)


def test_an_idle_stream_sends_empty_lines(
    collector: InMemoryCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debug, "KEEPALIVE_SECONDS", 0.02)

    async def test() -> None:
        async with following(collector) as follower:
            assert [await follower.next(), await follower.next()] == [None, None]

    run(test)


def test_the_stream_ends_with_the_collector(collector: InMemoryCollector) -> None:
    async def test() -> None:
        async with following(collector) as follower:
            await post(collector, "a")
            await follower.next()
            collector.recent.close()
            await asyncio.wait_for(follower.ended, 5)
            assert not follower.leave.is_set()

    run(test)


def test_the_stream_ends_with_its_key(collector: InMemoryCollector) -> None:
    async def test() -> None:
        async with following(collector) as follower:
            await post(collector, "a")
            await follower.next()
            collector.registry.snapshot = replace(
                collector.registry.snapshot, keys=MappingProxyType({})
            )
            await post(collector, "b")
            await asyncio.wait_for(follower.ended, 5)
            assert follower.lines.empty()

    run(test)


def test_a_slow_follower_misses_the_oldest_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_requests, "MAX_QUEUED_REQUESTS", 2)
    remembered = RecentRequests()
    with remembered.follow("shop", "acme") as queue:
        for size in (1, 2, 3):
            remembered.add("shop", an_event(size))
        remembered.close()
        waiting = [queue.get_nowait() for _ in range(queue.qsize())]

    assert [None if request is None else len(request.envelope) for request in waiting] == [3, None]


def test_followers_per_organization_are_bounded() -> None:
    remembered = RecentRequests()
    with ExitStack() as following:
        for _ in range(recent_requests.MAX_FOLLOWERS_PER_ORGANIZATION):
            following.enter_context(remembered.follow("shop", "acme"))
        following.enter_context(remembered.follow("solo", "solo-org"))
        with pytest.raises(Unavailable):
            following.enter_context(remembered.follow("blog", "acme"))
