"""Memory of both services while clients send without end, or read nothing."""

import os
import random
import select
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

import pytest

from tests.installation import eventually
from tests.schemas.http.services import STALLED_SECONDS, RunningService, split_replies

MB = 1_000_000
FLOOD_SECONDS = 0.2
"""In which tens of megabytes come through where nothing holds them up."""
FLAT_MB = 8.0
"""By which the memory of a service may grow meanwhile."""
ROUNDS = int(os.environ.get("TIDEMARK_FUZZ_ROUNDS", "1"))
CHUNKED = "Transfer-Encoding: chunked\r\n\r\n"

FLOODS = {
    "trailers": (CHUNKED + "2\r\n[]\r\n0\r\n", b"X-n: " + b"v" * 900 + b"\r\n", 413),
    "one trailer": (CHUNKED + "2\r\n[]\r\n0\r\nX-n: ", b"v" * 1000, 413),
    "fields": ("", b"X-n: " + b"v" * 900 + b"\r\n", 431),
    "one field": ("X-n: ", b"v" * 1000, 431),
    "a chunk extension": (CHUNKED + "2;", b"v" * 1000, 413),
    "chunk extensions": (CHUNKED, b"1;" + b"v" * 996 + b"\r\n \r\n", 413),
    "chunks": (CHUNKED, b"3de\r\n" + b" " * 990 + b"\r\n", 413),
}


def flood(service: RunningService, begin: bytes, piece: bytes) -> tuple[bytes, float]:
    """Send without reading; returns the response, and the growth of memory in MB."""
    before, max_bytes, until = service.memory_mb, 0.0, time.monotonic() + FLOOD_SECONDS
    block = piece * (MB // len(piece))
    with service.connect(FLOOD_SECONDS) as connection:
        connection.sendall(begin)
        with suppress(OSError):  # closed, or nothing more is taken
            while time.monotonic() < until:
                connection.send(block)
                max_bytes = max(max_bytes, service.memory_mb - before)
        assert service.call().status == 200
        seen = b""
        with suppress(OSError):
            while not list(split_replies(seen)) and (received := connection.recv(65_536)):
                seen += received
    return seen, max_bytes


@pytest.mark.parametrize("what", FLOODS)
def test_endless_requests_are_rejected_and_do_not_fill_memory(
    service: RunningService, what: str
) -> None:
    begin, piece, status = FLOODS[what]

    seen, grown = flood(service, (service.head + begin).encode(), piece)

    assert [reply.status for reply in split_replies(seen)] == [status]
    assert grown < FLAT_MB


def test_a_path_without_end_does_not_fill_memory(service: RunningService) -> None:
    seen, grown = flood(service, b"GET /", b"x" * 1000)

    assert [reply.status for reply in split_replies(seen)] == [431]
    assert grown < FLAT_MB


def test_empty_lines_without_end_do_not_fill_memory(service: RunningService) -> None:
    _seen, grown = flood(service, b"", b"\r\n")

    assert grown < FLAT_MB


def test_idle_and_dribbling_connections_cost_little_memory(service: RunningService) -> None:
    before = service.memory_mb

    with ExitStack() as stack:
        held = [stack.enter_context(service.connect()) for _ in range(400)]
        for connection in held[::2]:
            connection.sendall(service.head.encode())
        for _ in range(3):
            for connection in held[::2]:
                connection.sendall(b"X-A: 1\r\n")
            assert service.call().status == 200
        grown = service.memory_mb - before

    assert grown < 2 * FLAT_MB  # 40 KB each


def test_bodies_that_never_end_do_not_fill_memory(service: RunningService) -> None:
    """A hundred of 900 KB; a quarter of 128 MiB is what one address may have unfinished."""
    before = service.memory_mb
    begun = f"{service.head}Content-Length: 1000000\r\n\r\n".encode() + b" " * 900_000

    with ExitStack() as stack:
        held = [stack.enter_context(service.connect()) for _ in range(100)]
        for connection in held:
            with suppress(OSError):
                connection.settimeout(0.05)
                connection.sendall(begun)
        grown = service.memory_mb - before

    assert grown < 34 + 2 * FLAT_MB


def test_responses_that_no_client_reads_are_dropped(services: dict[str, RunningService]) -> None:
    """Requests without end for a document on one connection, and long answers on others."""
    collector, query = services["collector"], services["query"]
    document = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    before = {request.name: request.memory_mb for request in services.values()}
    with ExitStack() as stack:
        deaf = [
            stack.enter_context(asking(request, document * 20_000))
            for request in (collector, query)
        ]
        long = b"GET /long?40000000 HTTP/1.1\r\nHost: x\r\n\r\n"
        deaf += [stack.enter_context(asking(collector, long)) for _ in range(4)]
        held = eventually(lambda: collector.memory_mb - before["collector"] > 50)
        grown = query.memory_mb - before["query"]
        assert collector.call().status == query.call().status == 200
        eventually(lambda: all(is_reset(connection) for connection in deaf), STALLED_SECONDS + 5)

    assert held
    assert grown < 2 * FLAT_MB
    eventually(lambda: collector.memory_mb - before["collector"] < 2 * FLAT_MB)


def asking(service: RunningService, data: bytes) -> socket.socket:
    """A connection whose requests are sent as far as they are taken, and whose answers wait."""
    connection = service.connect()
    connection.setblocking(False)
    until = time.monotonic() + 0.3
    while data and time.monotonic() < until:
        try:
            data = data[connection.send(data) :]
        except BlockingIOError:
            time.sleep(0.02)
    return connection


def is_reset(connection: socket.socket) -> bool:
    """Whether the other side has thrown the connection away."""
    poll = select.poll()
    poll.register(connection, 0)
    return any(state & (select.POLLHUP | select.POLLERR) for _, state in poll.poll(0))


FRAGMENTS = (
    b"\r\n", b"\r\n\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 7\r\n",
    b"0\r\n\r\n", b"Connection: close\r\n", b"Connection: upgrade\r\nUpgrade: h2c\r\n",
    b"Expect: 100-continue\r\n", b"CONNECT a:1 HTTP/1.1\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\xff\xfe\x00", b"%00%zz", b"GET * HTTP/1.1\r\n\r\n",
    b"Content-Encoding: gzip\r\n",
    b"X: " + b"y" * 20_000 + b"\r\n", b"5;" + b"z" * 9_000,
)  # fmt: skip
MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    lambda chance, text: text,
    lambda chance, text: text[: chance.randrange(len(text) + 1)],
    lambda chance, text: text[chance.randrange(len(text) + 1) :],
    lambda chance, text: text.replace(b"\r\n", chance.choice([b"\n", b"\r", b"\r\n\r\n"]), 1),
    lambda chance, text: text.replace(b": ", chance.choice([b":", b" : ", b"\x00", b""]), 1),
    lambda chance, text: text.replace(b"1.1", chance.choice([b"1.0", b"0.9", b"2.0", b"9"]), 1),
    lambda chance, text: inserted(chance, text, chance.randbytes(chance.randrange(1, 9))),
    lambda chance, text: inserted(chance, text, chance.choice(FRAGMENTS)),
)


def inserted(chance: random.Random, text: bytes, more: bytes) -> bytes:
    at = chance.randrange(len(text) + 1)
    return text[:at] + more + text[at:]


def test_no_bytes_make_a_service_fail(service: RunningService) -> None:
    """Good requests, mutated and put together at random; the seed is fixed."""
    chance = random.Random(20261122)
    chunked = f"{service.head}{CHUNKED}".encode() + b"2;a=b\r\n[]\r\n0\r\nX-T: 1\r\n\r\n"
    requests = [service.good(), chunked, b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"]
    before = service.memory_mb
    for _ in range(600 * ROUNDS):
        garbage = b"".join(
            chance.choice(MUTATIONS)(chance, chance.choice(requests))
            for _ in range(chance.randrange(1, 6))
        )
        cut = chance.randrange(len(garbage) + 1)
        with service.connect() as connection:
            with suppress(OSError):
                for segment in (garbage[:cut], garbage[cut:]):
                    connection.sendall(segment)
                connection.shutdown(socket.SHUT_WR)
            seen = b""
            with suppress(ConnectionResetError):
                while received := connection.recv(65_536):
                    seen += received
        replies = list(split_replies(seen))
        assert {reply.status for reply in replies} <= {
            200, 204, 400, 401, 403, 404, 405, 408, 413, 429, 431,
        }, garbage  # fmt: skip
        assert all("x-ratelimit-limit" in reply.headers for reply in replies), garbage

    assert service.memory_mb - before < FLAT_MB
