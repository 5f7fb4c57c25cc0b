"""Limits of connections, of their bodies and of requests that wait."""

import json
import socket
import time

import pytest

from schemas.http.connection_limits import client_network
from tests.installation import eventually
from tests.schemas.http.in_process_server import (
    begun,
    connect,
    disconnected,
    open_connections,
    released,
    running_server,
)
from tests.schemas.http.services import read_replies, read_reply, split_replies

POST = b"POST /body HTTP/1.1\r\nHost: x\r\n"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"


def test_requests_of_gone_clients_are_cancelled_and_of_half_closed_ones_served() -> None:
    with running_server() as port, connect(port) as there, connect(port) as gone:
        there.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        there.shutdown(socket.SHUT_WR)
        gone.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        gone.close()
        received = there.recv(1_000)
        released.set()
        whole = received + b"".join(iter(lambda: there.recv(1_000), b""))

        eventually(lambda: disconnected == ["/wait"], 4)

    # The interim answer that finds out who left, which clients pass over.
    assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert [reply.status for reply in split_replies(whole)] == [200]


def test_an_address_has_a_limit_of_unfinished_bodies() -> None:
    """A quarter of 400,000 bytes, so one body of 60,000 but not two."""
    part = POST + b"Content-Length: 100000\r\n\r\n" + b"x" * 60_000
    with running_server(unfinished_bytes=400_000) as port, connect(port) as first:
        first.sendall(part)
        eventually(lambda: open_connections[0].unfinished_bytes >= 60_000, pause=0.01)
        with connect(port) as second:
            second.sendall(part)
            [response] = read_replies(second)
        first.sendall(b"x" * 40_000)
        taken = read_reply(first)
        with connect(port) as third:
            third.sendall(part + b"x" * 40_000)
            later = read_reply(third)

    assert (response.status, json.loads(response.body)["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert (taken.status, later.status) == (200, 200)


def test_an_address_has_a_limit_of_connections() -> None:
    with running_server(address_connections=3, connections=100) as port:
        held = [connect(port) for _ in range(3)]
        for connection in held:
            connection.sendall(GET)
            assert read_reply(connection).status == 200
        with connect(port) as one_more:
            [response] = read_replies(one_more)
        held.pop().close()

        def room() -> bool:
            with connect(port) as again:
                again.sendall(GET)
                return b" 200 " in again.recv(20)

        eventually(room, 3)
        for connection in held:
            connection.close()

    assert (response.status, json.loads(response.body)["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert response.headers["retry-after"] == "5"
    assert "x-ratelimit-reset" in response.headers


def test_a_trusted_proxy_may_open_all_connections_and_no_more() -> None:
    with running_server("127.0.0.0/8", address_connections=1, connections=4) as port:
        held = [connect(port) for _ in range(4)]
        for connection in held:
            connection.sendall(SLOW)
        eventually(lambda: len(begun) == 4, pause=0.01)

        with connect(port) as one_more:
            assert [reply.status for reply in read_replies(one_more)] == [503]
        released.set()
        for connection in held:
            assert read_reply(connection).status == 200
            connection.close()


def test_networks_that_open_all_connections_keep_no_new_client_out() -> None:
    """Three of 127.120.1.0/24, two of each of 127.121.1.0/24 and 127.0.0.0/24, which came first."""
    with running_server(address_connections=4, connections=7) as port:
        idle = [connect(port) for _ in range(2)]
        for connection in idle:
            connection.sendall(GET)
            assert read_reply(connection).status == 200
        held = [
            connect(port, peer)
            for peer in ("127.120.1.1", "127.120.1.2", "127.120.1.3", "127.121.1.1", "127.121.1.1")
        ]
        for connection in held:
            connection.sendall(POST + b"Content-Length: 5000\r\n\r\n[")
            time.sleep(0.15)
        with connect(port, "127.9.9.9") as newcomer:
            newcomer.sendall(GET)
            answered = read_reply(newcomer)
            [gave_way] = read_replies(held[0])
            for connection in held[1:]:
                connection.sendall(b"x" * 4_999)
            stayed = [read_reply(connection).status for connection in held[1:]]
        for connection in idle:
            connection.sendall(GET)
            assert read_reply(connection).status == 200
        for connection in held + idle:
            connection.close()

    assert answered.status == 200
    assert (gave_way.status, gave_way.headers["retry-after"]) == (503, "5")
    assert stayed == [200, 200, 200, 200]


def test_one_network_may_open_a_quarter_of_all_connections() -> None:
    with running_server(address_connections=2, connections=16) as port:
        held = [connect(port, f"127.120.1.{number}") for number in range(1, 5)]
        with connect(port, "127.120.1.9") as neighbour, connect(port, "127.120.2.9") as other:
            assert [reply.status for reply in read_replies(neighbour)] == [503]
            other.sendall(GET)
            assert read_reply(other).status == 200
        for connection in held:
            connection.close()


def test_a_client_rejected_within_its_request_can_read_the_response() -> None:
    """Closed at once, what was sent and not read would reset the connection."""
    with running_server(connections=1) as port, connect(port) as held:
        held.sendall(SLOW)
        eventually(lambda: begun, pause=0.01)
        for _ in range(20):
            with connect(port, "127.9.9.9") as newcomer:
                newcomer.sendall(POST + b"Content-Length: 200000\r\n\r\n" + b"x" * 100_000)
                time.sleep(0.005)
                newcomer.sendall(b"x" * 100_000)
                assert [reply.status for reply in read_replies(newcomer)] == [503]
        released.set()
        assert read_reply(held).status == 200


def is_gone(connection: socket.socket) -> bool:
    """Whether the server has closed both halves of a connection."""
    try:
        connection.sendall(b"x")
    except OSError:
        return True
    return False


def test_the_number_of_lingering_connections_is_bounded() -> None:
    with running_server(connections=1, lingering=2) as port, connect(port) as held:
        held.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        eventually(lambda: begun, pause=0.01)
        rejected = [connect(port, "127.9.9.9") for _ in range(3)]
        for connection in rejected:
            assert [reply.status for reply in read_replies(connection)] == [503]
        assert not is_gone(rejected[1])
        time.sleep(0.1)
        assert not is_gone(rejected[1])
        eventually(lambda: is_gone(rejected[0]), 2)
        for connection in rejected:
            connection.close()


@pytest.mark.parametrize(
    ("peer", "network"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
        ("2001:db8:1:9:ffff::1", "2001:db8:1::"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("fe80::1%eth0", "fe80::"),
        ("/run/a.sock", "/run/a.sock"),
    ],
)
def test_an_ipv6_client_is_its_network(peer: str, network: str) -> None:
    assert client_network(peer) == network


def test_the_number_of_waiting_requests_is_bounded() -> None:
    with running_server(pipelined=4) as port, connect(port) as connection:
        connection.sendall(GET * 1_000)
        connection.shutdown(socket.SHUT_WR)
        replies = read_replies(connection)

    assert [reply.status for reply in replies] == [200] * 1_000
