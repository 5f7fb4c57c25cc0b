"""Hostile and malformed HTTP, on raw connections to a running collector."""

import gzip
import json
import socket
import time
from collections.abc import Iterator

import pytest

from tests.http_client import Reply
from tests.ingest.collector_process import CollectorProcess, published_names
from tests.installation import eventually

HEAD = "POST /track?website_id=shop HTTP/1.1\r\nHost: x\r\n"


def reply_to(connection: socket.socket) -> Reply:
    """The next answer; AssertionError when the connection is closed without one."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65_536)
        assert piece, "closed without an answer"
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    while len(body) < int(headers["content-length"]):
        body += connection.recv(65_536)
    return Reply(int(first.split()[1]), headers, body)


def send(collector_process: CollectorProcess, data: bytes) -> Reply:
    with collector_process.connect() as connection:
        connection.sendall(data)
        return reply_to(connection)


def packed(body: bytes, extra: str = "") -> bytes:
    return f"{HEAD}Content-Length: {len(body)}\r\n{extra}\r\n".encode() + body


@pytest.fixture(autouse=True)
def neighbour(collector_process: CollectorProcess) -> Iterator[None]:
    """After any input the next request of another client succeeds."""
    eventually(collector_process.ready)
    yield
    reply = collector_process.post({"name": "neighbour"})
    assert (reply.status, reply.json["count"]) == (200, 1)


def is_refusal(reply: Reply, status: int) -> bool:
    """Whether it has the status, the contract's body and the three headers."""
    body = json.loads(reply.body)
    return (
        (reply.status, body["status"]) == (status, "error")
        and isinstance(body["message"], str)
        and {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}
        <= set(reply.headers)
    )


GOOD = b'{"name":"a"}'
GZIP = "Content-Encoding: gzip\r\n"

BODIES = {
    "nothing": (b"", 400),
    "no JSON": (b"name=a", 400),
    "half an object": (b'{"name":', 400),
    "two objects": (b'{"name":"a"},{"name":"b"}', 400),
    "a number": (b"7", 400),
    "null": (b"null", 400),
    "an empty array": (b"[]", 400),
    "NaN": (b'{"name":"a","properties":{"x":NaN}}', 400),
    "Infinity": (b'{"name":"a","properties":{"x":-Infinity}}', 400),
    "1e400": (b'{"name":"a","properties":{"x":1e400}}', 400),
    "400 digits": (b'{"name":"a","properties":{"x":' + b"9" * 400 + b"}}", 400),
    "5,000 digits": (b'{"name":"a","timestamp":' + b"9" * 5000 + b"}", 400),
    "a time beyond 63 bits": (b'{"name":"a","timestamp":9223372036854775808}', 400),
    "bad UTF-8": (b'{"name":"\xff\xfe"}', 400),
    "bad UTF-8 in an unknown field": (b'{"name":"a","other":"\xff"}', 400),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD, 400),
    "UTF-16": (GOOD.decode().encode("utf-16"), 400),
    "100,000 deep": (b"[" * 100_000, 400),
    "100,000 deep in an item": (
        b'{"name":"a","other":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400,
    ),
    "9 deep properties": (b'{"name":"a","properties":' + b'{"a":' * 9 + b"1" + b"}" * 10, 400),
    "101 properties": (
        json.dumps({"name": "a", "properties": dict.fromkeys(map(str, range(101)))}).encode(), 400,
    ),
    "200,000 keys": (
        json.dumps({"name": "a", "properties": dict.fromkeys(map(str, range(99_999)))}).encode(),
        413,
    ),
    "a long key": (json.dumps({"name": "a", "properties": {"k" * 129: 1}}).encode(), 400),
    "an array for properties": (b'{"name":"a","properties":[1]}', 400),
    "501 items": (b"[" + b",".join([GOOD] * 501) + b"]", 400),
    "65 KiB in an item": (json.dumps({"name": "a", "other": "x" * 66_560}).encode(), 400),
    "over 1 MiB": (b"[" + b" " * 1_048_576 + b"]", 413),
}  # fmt: skip


@pytest.mark.parametrize("what", BODIES)
def test_a_malformed_body_is_refused(collector_process: CollectorProcess, what: str) -> None:
    body, status = BODIES[what]

    assert is_refusal(send(collector_process, packed(body)), status)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (gzip.compress(b" " * 100_000_000), 413),
        (gzip.compress(GOOD)[:-4], 400),
        (gzip.compress(GOOD) * 2, 400),
        (GOOD, 400),
    ],
    ids=["bomb", "cut off", "two members", "not packed"],
)
def test_a_compressed_body_that_cannot_be_decompressed_is_refused(
    collector_process: CollectorProcess, body: bytes, status: int
) -> None:
    assert is_refusal(send(collector_process, packed(body, GZIP)), status)


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip"])
def test_an_unknown_content_encoding_is_refused(
    collector_process: CollectorProcess, encoding: str
) -> None:
    reply = send(collector_process, packed(GOOD, f"Content-Encoding: {encoding}\r\n"))

    assert is_refusal(reply, 400)
    assert "gzip or identity" in reply.json["message"]


HEADS = {
    "length and chunked": (
        HEAD + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
    ),
    "an endless length": (HEAD + "Content-Length: 99999999999\r\n\r\n{", 413),
    "a negative length": (HEAD + "Content-Length: -1\r\n\r\n", 400),
    "two lengths": (HEAD + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
    "a 70 KB header": (HEAD + "X-Long: " + "x" * 70_000 + "\r\n\r\n", 431),
    "no HTTP": ("\x16\x03\x01 hello\r\n\r\n", 400),
    "a long key": (HEAD + "Idempotency-Key: " + "k" * 257 + "\r\nContent-Length: 2\r\n\r\n{}", 400),
}  # fmt: skip


@pytest.mark.parametrize("what", HEADS)
def test_a_malformed_request_head_is_refused(
    collector_process: CollectorProcess, what: str
) -> None:
    head, status = HEADS[what]

    assert is_refusal(send(collector_process, head.encode()), status)


def test_a_chunked_body_is_accepted(collector_process: CollectorProcess) -> None:
    data = HEAD + 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam\r\n7\r\ne":"a"}\r\n0\r\n\r\n'

    assert send(collector_process, data.encode()).json["count"] == 1


def test_a_chunked_body_without_end_is_refused(collector_process: CollectorProcess) -> None:
    with collector_process.connect() as connection:
        connection.sendall((HEAD + "Transfer-Encoding: chunked\r\n\r\n").encode())
        for _ in range(20):
            connection.sendall(b"10000\r\n" + b" " * 65_536 + b"\r\n")

        assert is_refusal(reply_to(connection), 413)


def test_pipelined_requests_are_answered_in_order(collector_process: CollectorProcess) -> None:
    requests = packed(GOOD) + b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n" + packed(b"[]")

    with collector_process.connect() as connection:
        connection.sendall(requests)
        received = b""
        while received.count(b"HTTP/1.1 ") < 3:
            received += connection.recv(65_536)

    assert [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"400"]


def test_expect_100_continue_is_answered(collector_process: CollectorProcess) -> None:
    with collector_process.connect() as connection:
        connection.sendall(f"{HEAD}Content-Length: 12\r\nExpect: 100-continue\r\n\r\n".encode())
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(GOOD)

        assert reply_to(connection).status == 200


def test_a_connection_is_closed_when_the_client_asks_for_it(
    collector_process: CollectorProcess,
) -> None:
    with collector_process.connect() as connection:
        connection.sendall(packed(GOOD, "Connection: close\r\n"))

        assert reply_to(connection).headers["connection"] == "close"
        assert connection.recv(1) == b""


def test_a_client_that_disconnects_during_its_body_publishes_nothing(
    collector_process: CollectorProcess,
) -> None:
    with collector_process.connect() as connection:
        connection.sendall(f"{HEAD}Content-Length: 1000\r\n\r\n{{".encode())
        time.sleep(0.2)

    assert collector_process.post({"name": "after"}).status == 200
    assert "Traceback" not in collector_process.log.read_text()


def test_items_of_a_client_that_disconnects_before_the_response_are_published(
    collector_process: CollectorProcess,
) -> None:
    with collector_process.connect() as connection:
        connection.sendall(packed(b'{"name":"left early"}'))

    eventually(lambda: "left early" in published_names(collector_process))
    assert "Traceback" not in collector_process.log.read_text()


@pytest.mark.long
def test_slow_clients_time_out(collector_process: CollectorProcess) -> None:
    begun = time.monotonic()
    idle, slow_head, slow_body, no_body = (collector_process.connect() for _ in range(4))
    slow_head.sendall(HEAD.encode())
    slow_body.sendall(f"{HEAD}Content-Length: 1000\r\n\r\n{{".encode())
    no_body.sendall(f"{HEAD}Content-Length: 1000\r\n\r\n".encode())
    while time.monotonic() - begun < 8:
        time.sleep(0.5)
        slow_body.sendall(b" ")

    assert is_refusal(reply_to(slow_body), 408)
    assert is_refusal(reply_to(no_body), 408)
    assert idle.recv(1) == b""
    assert is_refusal(reply_to(slow_head), 408)
    for connection in (idle, slow_head, slow_body, no_body):
        connection.close()
