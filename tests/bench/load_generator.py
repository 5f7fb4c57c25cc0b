"""Load generator process: N keep-alive connections that post as fast as they can.

`python -m tests.bench.load_generator PORT TARGET CONNECTIONS SECONDS BODIES [RATE] [--key KEY]`
prints one JSON object. With a rate, all connections together post so many requests a second at
most. With a key, each of them has it in its head.
Requests and answers are cut by hand, so that most of the machine is left to what is measured.
"""

import asyncio
import json
import time
from argparse import ArgumentParser, Namespace
from itertools import cycle
from pathlib import Path
from typing import Any

import uvloop


class Client(asyncio.Protocol):
    """One connection: the next request is sent after the response to the previous one."""

    def __init__(self, requests: Any, load: "Load") -> None:
        self._requests = requests
        self._load = load
        self._seen = b""
        self._sent_at = 0.0
        self._due_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._due_at = self._loop.time()
        self._post()

    def data_received(self, data: bytes) -> None:
        self._seen += data
        head, found, rest = self._seen.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(rest) < length:
            return
        self._seen = b""
        self._load.took(head.startswith(b"HTTP/1.1 200"), time.perf_counter() - self._sent_at)
        self._due_at += self._load.pause
        if self._due_at > self._loop.time():
            self._loop.call_at(self._due_at, self._post)
        else:
            self._post()

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.lost += 1

    def _post(self) -> None:
        if self._transport.is_closing():
            return
        self._sent_at = time.perf_counter()
        self._transport.write(next(self._requests))


class Load:
    """Counts and latencies of the responses."""

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause
        """Seconds from one request of a connection to its next at least."""
        self.good = self.bad = self.lost = 0
        self.seconds: list[float] = []

    def took(self, good: bool, seconds: float) -> None:
        self.good += good
        self.bad += not good
        self.seconds.append(seconds)


async def post(load_of: Namespace) -> str:
    connections, rate = load_of.connections, load_of.rate
    key = f"x-api-key: {load_of.key}\r\n" if load_of.key else ""
    head = f"POST {load_of.target} HTTP/1.1\r\nHost: bench\r\n{HEADERS}{key}"
    requests = cycle(
        [
            f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
            for body in load_of.bodies.read_bytes().splitlines()
        ]
    )
    load, loop = Load(connections / rate if rate else 0.0), asyncio.get_running_loop()
    begun = time.perf_counter()
    clients = [
        await loop.create_connection(lambda: Client(requests, load), "127.0.0.1", load_of.port)
        for _ in range(connections)
    ]
    await asyncio.sleep(load_of.seconds)
    took = time.perf_counter() - begun
    load.seconds.sort()
    result = {
        "requests": load.good,
        "bad": load.bad,
        "lost": load.lost,
        "seconds": took,
        "p50_ms": load.seconds[len(load.seconds) // 2] * 1000,
        "p99_ms": load.seconds[len(load.seconds) * 99 // 100] * 1000,
    }
    for transport, _ in clients:
        transport.abort()
    return json.dumps(result)


HEADERS = (
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/141.0.0.0 Safari/537.36\r\nAccept: */*\r\nAccept-Language: en-US,en;q=0.9\r\n"
    "Accept-Encoding: gzip, deflate\r\nOrigin: https://shop.example\r\n"
    "Referer: https://shop.example/\r\nContent-Type: application/json\r\n"
)


def read_arguments() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("target")
    parser.add_argument("connections", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("bodies", type=Path, help="file with one body a line")
    parser.add_argument("rate", type=float, nargs="?", default=0.0)
    parser.add_argument("--key", default="")
    return parser.parse_args()


if __name__ == "__main__":
    print(uvloop.run(post(read_arguments())))
