"""Copies of requests for the product's own server, received by a real one on this machine."""

import asyncio
import base64
import gzip
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ingest.publishing.tee import MAX_SENDERS
from schemas.registry.privacy import Privacy
from schemas.telemetry.instruments import REGISTRY
from tests.asgi_client import send_request
from tests.http_client import Reply
from tests.ingest.in_memory_collector import InMemoryCollector, in_memory_collector
from tests.installation import ROOT, free_port

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
EVENT = {"type": "track", "event": "Order", "anonymousId": "a1"}


class Receiver:
    """A server that keeps what it is sent, byte for byte; `reply` None: it never answers."""

    def __init__(self, reply: bytes | None) -> None:
        self.reply = reply
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        """Request line, headers, body."""
        self.url = f"http://127.0.0.1:{free_port()}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                line, *lines = head.decode().strip().split("\r\n")
                pairs = (one.split(": ", 1) for one in lines)
                headers = {name.lower(): value for name, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.requests.append((line, headers, body))
                if self.reply is None:
                    await asyncio.Event().wait()
                else:
                    writer.write(self.reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving(reply: bytes | None = OK) -> AsyncIterator[Receiver]:
    receiver = Receiver(reply)
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        await receiver.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", int(receiver.url.rsplit(":", 1)[1]))
    try:
        yield receiver
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


def outcomes() -> dict[str, float]:
    """Copies by outcome, those that there are."""
    return {
        sample.labels["outcome"]: sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name == "tidemark_tee_requests_total"
    }


async def until(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not check():  # noqa: ASYNC110 - of counters, which set no event
            await asyncio.sleep(0.01)


async def post(
    collector: InMemoryCollector, alias: str, path: str = "/v1/batch", **headers: str
) -> Reply:
    body = json.dumps({"writeKey": alias, "batch": [EVENT]}).encode()
    return await send_request(collector.app, "POST", path, [body], headers)


def run(
    folder: Path,
    scenario: Callable[[InMemoryCollector], Awaitable[None]],
    **settings: Any,
) -> dict[str, float]:
    """Run a scenario with a collector; the copies that came of it, by outcome."""
    before = outcomes()
    collector = in_memory_collector(folder, **{"tee_private": True, **settings})

    async def whole() -> None:
        try:
            await scenario(collector)
        finally:
            await collector.tee.close()

    asyncio.run(whole())
    return {
        name: value - before[name] for name, value in outcomes().items() if value != before[name]
    }


def test_a_request_arrives_byte_for_byte(tmp_path: Path) -> None:
    body = gzip.compress(json.dumps({"batch": [EVENT], "note": "Größe"}).encode())
    basic = f"Basic {base64.b64encode(b'wk1:').decode()}"
    received: list[tuple[str, dict[str, str], bytes]] = []

    async def scenario(collector: InMemoryCollector) -> None:
        async with receiving() as receiver:
            collector.add_alias("segment", "wk1", tee_url=f"{receiver.url}/old/")
            headers = {
                "authorization": basic, "content-type": "text/plain", "content-encoding": "gzip",
                "user-agent": "Node", "cookie": "a=b", "x-forwarded-for": "198.51.100.9",
                "x-api-token": "secret",
            }  # fmt: skip
            reply = await send_request(
                collector.app, "POST", "/segment/v1/batch?a=%20b&c=%2F+~", [body], headers
            )
            await until(lambda: bool(receiver.requests))
            received.extend(receiver.requests)
            assert (reply.status, reply.json) == (200, {"success": True})

    counts = run(tmp_path, scenario)

    [(line, headers, copied)] = received
    host = headers.pop("host")
    assert line == "POST /old/v1/batch?a=%20b&c=%2F+~ HTTP/1.1"
    assert host.startswith("127.0.0.1:")
    assert headers == {
        "authorization": basic,
        "content-type": "text/plain",
        "content-encoding": "gzip",
        "user-agent": "Node",
        "x-forwarded-for": "203.0.113.0",
        "x-tidemark-copy": "1",
        "content-length": str(len(body)),
    }
    assert copied == body
    assert counts == {"sent": 1}


def test_a_server_that_hangs_costs_nothing_and_its_copies_are_bounded(tmp_path: Path) -> None:
    async def scenario(collector: InMemoryCollector) -> None:
        async with receiving(reply=None) as receiver:
            collector.add_alias("segment", "wk1", tee_url=receiver.url)
            first = [await post(collector, "wk1") for _ in range(MAX_SENDERS)]
            await until(lambda: len(receiver.requests) == MAX_SENDERS)
            more = [await post(collector, "wk1") for _ in range(12)]
            assert [reply.status for reply in (*first, *more)] == [200] * (MAX_SENDERS + 12)
            assert len(collector.producer.sent) == MAX_SENDERS + 12

    counts = run(tmp_path, scenario, tee_requests=5)

    assert counts == {"queue full": 7, "stopped": MAX_SENDERS + 5}


def test_copies_are_bounded_by_their_bytes_too(tmp_path: Path) -> None:
    async def scenario(collector: InMemoryCollector) -> None:
        async with receiving(reply=None) as receiver:
            collector.add_alias("segment", "wk1", tee_url=receiver.url)
            event = {**EVENT, "properties": {"text": "x" * 60_000}}
            body = json.dumps({"writeKey": "wk1", "batch": [event] * 10}).encode()
            for _ in range(3):  # of 0.6 MB each
                reply = await send_request(collector.app, "POST", "/v1/batch", [body])
                assert reply.status == 200

    assert run(tmp_path, scenario, tee_mb=1) == {"queue full": 2, "stopped": 1}


def test_a_server_that_is_away_gets_nothing_for_a_while(tmp_path: Path) -> None:
    async def scenario(collector: InMemoryCollector) -> None:
        collector.add_alias("segment", "wk1", tee_url=f"http://127.0.0.1:{free_port()}")
        before = outcomes()["no reply"]
        assert (await post(collector, "wk1")).status == 200
        await until(lambda: outcomes()["no reply"] > before)
        assert (await post(collector, "wk1")).status == 200

    assert run(tmp_path, scenario) == {"no reply": 1, "paused": 1}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1"])
def test_addresses_of_private_networks_are_refused(tmp_path: Path, host: str) -> None:
    async def scenario(collector: InMemoryCollector) -> None:
        async with receiving() as receiver:
            port = receiver.url.rsplit(":", 1)[1]
            collector.add_alias("segment", "wk1", tee_url=f"http://{host}:{port}")
            before = outcomes()["address"]
            assert (await post(collector, "wk1")).status == 200
            await until(lambda: outcomes()["address"] > before)
            assert receiver.requests == []

    assert run(tmp_path, scenario, tee_private=False) == {"address": 1}


def test_redirects_are_not_followed(tmp_path: Path) -> None:
    async def scenario(collector: InMemoryCollector) -> None:
        moved = b"HTTP/1.1 307 Moved\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n"
        async with receiving(moved) as receiver:
            collector.add_alias("segment", "wk1", tee_url=receiver.url)
            before = outcomes()["refused"]
            await post(collector, "wk1")
            await until(lambda: outcomes()["refused"] > before)
            assert [line for line, *_ in receiver.requests] == ["POST /v1/batch HTTP/1.1"]

    assert run(tmp_path, scenario) == {"refused": 1}


def test_only_what_privacy_leaves_as_it_is_is_copied(tmp_path: Path) -> None:
    async def scenario(collector: InMemoryCollector) -> None:
        async with receiving() as receiver:
            collector.add_alias("segment", "wk1", tee_url=receiver.url)
            collector.set_privacy("shop", Privacy(do_not_track="drop", location="none"))
            assert (await post(collector, "wk1", dnt="1")).status == 200
            assert (await post(collector, "wk1")).status == 200
            await until(lambda: bool(receiver.requests))
            [(_, headers, _)] = receiver.requests
            assert "x-forwarded-for" not in headers

    assert run(tmp_path, scenario) == {"privacy": 1, "sent": 1}


def test_a_request_with_a_key_of_ours_is_not_copied(tmp_path: Path) -> None:
    async def scenario(collector: InMemoryCollector) -> None:
        async with receiving() as receiver:
            collector.add_alias("matomo", "7", tee_url=receiver.url)
            hit = "/matomo.php?idsite=7&rec=1&url=https%3A%2F%2Fshop.example%2F"
            for key in ("&token_auth=tm_k1_secret", ""):
                reply = await send_request(collector.app, "GET", hit + key)
                assert reply.status in (200, 204), reply.body
            await until(lambda: bool(receiver.requests))
            [(line, _, _)] = receiver.requests
            assert line == f"GET {hit} HTTP/1.1"

    assert run(tmp_path, scenario) == {"own key": 1, "sent": 1}


def test_a_request_that_http_does_not_permit_pauses_nothing(tmp_path: Path) -> None:
    async def scenario(collector: InMemoryCollector) -> None:
        async with receiving() as receiver:
            collector.add_alias("segment", "wk1", tee_url=receiver.url)
            before = outcomes()["refused"]
            await post(collector, "wk1", **{"user-agent": "a\x00b"})
            await until(lambda: outcomes()["refused"] > before)
            await post(collector, "wk1")
            await until(lambda: bool(receiver.requests))

    assert run(tmp_path, scenario) == {"refused": 1, "sent": 1}


def test_refused_requests_other_aliases_and_our_keys_are_not_copied(tmp_path: Path) -> None:
    async def scenario(collector: InMemoryCollector) -> None:
        async with receiving() as receiver:
            collector.add_alias("segment", "wk1", tee_url=receiver.url)
            collector.add_alias("segment", "wk2")
            collector.add_alias("jitsu", "wk1")
            key = collector.keys["acme-shop"]
            refused = await send_request(
                collector.app, "POST", "/v1/batch", [b'{"writeKey":"wk1","batch":[{}]}']
            )
            assert refused.status == 400
            assert (await post(collector, "wk2")).status == 200
            assert (await post(collector, "shop")).status == 200
            assert (await post(collector, key)).status == 200
            assert (await post(collector, "wk1", **{"x-tidemark-copy": "1"})).status == 200
            assert (await post(collector, "wk1", authorization=f"Bearer {key}")).status == 200
            await until(lambda: bool(receiver.requests))
            [(_, headers, body)] = receiver.requests
            assert set(headers) == {
                "host", "x-forwarded-for", "x-tidemark-copy", "content-length",
            }  # fmt: skip
            assert key not in body.decode()

    assert run(tmp_path, scenario) == {"sent": 1}


def test_the_http_client_is_not_loaded_without_copies() -> None:
    code = "import sys, ingest.__main__; print('aiohttp' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"
