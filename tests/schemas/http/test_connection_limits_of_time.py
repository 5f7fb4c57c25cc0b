"""Timeouts of connections, and what is read of one after its response."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.schemas.http.in_process_server import connect, running_server
from tests.schemas.http.services import read_replies, read_reply

POST = b"POST /body HTTP/1.1\r\nHost: x\r\n"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
BUFFERED = 16_000_000
"""What the kernel keeps of one connection on loopback at most, on both sides."""


@pytest.fixture(scope="module")
def hasty() -> Iterator[int]:
    """A server with timeouts of about a second."""
    with running_server(
        head_seconds=0.5, body_seconds=0.6, keep_alive_seconds=0.7, linger_seconds=0.3
    ) as port:
        yield port


def test_slow_clients_are_rejected_or_closed(hasty: int) -> None:
    began = time.monotonic()
    late = {
        what: connect(hasty)
        for what in ("nothing", "empty lines", "half a head", "no body", "half a body", "kept")
    }
    late["empty lines"].sendall(b"\r\n\r\n")
    late["half a head"].sendall(POST)
    late["no body"].sendall(POST + b"Content-Length: 9\r\n\r\n")
    late["half a body"].sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc")
    late["kept"].sendall(GET)
    seen = {what: read_replies(connection) for what, connection in late.items()}

    assert time.monotonic() - began < 4
    assert {what: [reply.status for reply in replies] for what, replies in seen.items()} == {
        "nothing": [],
        "empty lines": [],
        "half a head": [408],
        "no body": [408],
        "half a body": [408],
        "kept": [200],
    }
    response = json.loads(seen["half a head"][0].body)
    assert response == {
        "success": False,
        "error": "The head did not arrive within 0.5 seconds",
        "code": "REQUEST_TIMEOUT",
    }
    assert "x-ratelimit-limit" in seen["half a head"][0].headers
    for connection in late.values():
        connection.close()


def test_slow_senders_time_out(hasty: int) -> None:
    with connect(hasty) as head, connect(hasty) as body:
        head.sendall(POST)
        body.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(4):
            time.sleep(0.2)
            head.sendall(b"X-A: 1\r\n")
            body.sendall(b"1\r\na\r\n")

        assert [reply.status for reply in read_replies(head)] == [408]
        assert [reply.status for reply in read_replies(body)] == [408]


def test_idle_connections_are_closed_sooner_on_a_crowded_server() -> None:
    with running_server(address_connections=4, crowded_seconds=0.2) as port:
        held = [connect(port) for _ in range(4)]
        for connection in held:
            connection.sendall(GET)
            assert read_reply(connection).status == 200

        assert held[0].recv(1) == b""
        for connection in held:
            connection.close()


def test_a_body_after_its_response_is_discarded(hasty: int) -> None:
    with connect(hasty) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
        first = read_reply(connection)
        connection.sendall(b"x" * 100_000 + GET)
        second = read_reply(connection)

    assert (first.status, second.status) == (200, 200)


def test_input_after_a_rejection_is_discarded_up_to_a_limit() -> None:
    max_bytes = 1_000_000
    with (
        running_server(drained_bytes=max_bytes, linger_seconds=1.5) as port,
        connect(port) as connection,
    ):
        connection.sendall(b"rubbish\r\n\r\n")
        response = read_reply(connection)
        connection.setblocking(False)
        taken, until = 0, time.monotonic() + 1.0
        while time.monotonic() < until:
            try:
                taken += connection.send(b"x" * 65_536)
            except BlockingIOError:
                time.sleep(0.01)

    assert response.status == 400
    assert taken < max_bytes + BUFFERED


def test_a_client_that_speaks_no_http_cannot_reconnect_as_fast_as_it_is_rejected(
    hasty: int,
) -> None:
    until, connections = time.monotonic() + 0.4, 0
    while time.monotonic() < until:
        with connect(hasty) as connection:
            connection.sendall(b"rubbish\r\n\r\n")
            assert [reply.status for reply in read_replies(connection)] == [400]
        connections += 1

    assert connections <= 9  # closed 0.05 s after the response
