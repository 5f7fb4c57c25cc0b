"""A follower of /debug gets past and new requests, in bounded memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Message

from ingest.endpoints import debug
from tests.asgi_client import http_scope, send_request
from tests.ingest.in_memory_collector import InMemoryCollector


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
