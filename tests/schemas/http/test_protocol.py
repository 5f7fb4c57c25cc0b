"""Hostile heads and bodies, half-closed connections and pipelines, against both services."""

import socket

import pytest

from tests.schemas.http.services import (
    LIVE,
    RunningService,
    is_refusal,
    read_replies,
    read_reply,
    statuses,
)

LAST = b"GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
H2C = (
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n"
)
"""As Java's HttpClient sends them on plain http."""


@pytest.mark.parametrize("together", [True, False], ids=["one segment", "two segments"])
def test_an_upgrade_to_http_2_is_ignored_and_the_request_is_served(
    service: RunningService, together: bool
) -> None:
    whole = service.good(H2C)
    cut = len(whole) - len(service.body)

    with service.connect() as connection:
        for segment in [whole] if together else [whole[:cut], whole[cut:]]:
            connection.sendall(segment)
        first = read_reply(connection)
        connection.sendall(service.good())
        second = read_reply(connection)

    assert (first.status, second.status) == (200, 200)


@pytest.mark.parametrize("protocol", ["websocket", "TLS/1.0, h2c", "x" * 5000])
def test_an_upgrade_to_any_other_protocol_is_ignored(
    service: RunningService, protocol: str
) -> None:
    request = service.good(f"UPGRADE: {protocol}\r\nconnection: keep-alive, upgrade\r\n")

    replies = service.say(request + LIVE + service.good("Connection: close\r\n"))

    assert statuses(replies) == [200, 200, 200]


def test_an_upgrade_hides_no_second_length(service: RunningService) -> None:
    [reply] = service.say(service.good(H2C + "Transfer-Encoding: chunked\r\n"))

    assert is_refusal(service, reply, 400)


def test_connect_is_rejected(service: RunningService) -> None:
    [reply] = service.say(b"CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n" + LIVE)

    assert is_refusal(service, reply, 400)


TWICE = {
    "a length and chunks": "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
    "chunks and a length": "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
    "two lengths": "Content-Length: 3\r\nContent-Length: 3\r\n",
    "a list of lengths": "Content-Length: 3, 3\r\n",
    "a signed length": "Content-Length: +3\r\n",
    "a negative length": "Content-Length: -3\r\n",
    "a length in hex": "Content-Length: 0x3\r\n",
    "a space before the colon": "Content-Length : 3\r\n",
    "two codings": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "an unknown coding": "Transfer-Encoding: xchunked\r\n",
    "chunked is not the last": "Transfer-Encoding: chunked, gzip\r\n",
    "a folded line": "X-A: 1\r\n Content-Length: 3\r\n",
    "a bare line feed": "X-A: 1\nContent-Length: 3\r\n",
    "a NUL": "X-A: \x00\r\n",
}  # fmt: skip


@pytest.mark.parametrize("what", TWICE)
def test_a_body_with_an_ambiguous_length_is_rejected(service: RunningService, what: str) -> None:
    [reply] = service.say(f"{service.head}{TWICE[what]}\r\nabc".encode() + LIVE)

    assert is_refusal(service, reply, 400)


def test_a_trailer_is_not_a_header(service: RunningService) -> None:
    line, *fields = service.head.split("\r\n")[:-1]
    keys = [field for field in fields if field.startswith("X-Api-Key")] or ["X-Api-Key: wrong"]
    trailers = "\r\n".join([*keys, "Content-Encoding: br", "X-Forwarded-For: 203.0.113.9"])
    head = f"{line}\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    chunks = b"%x\r\n%b\r\n0\r\n" % (len(service.body), service.body)

    replies = service.say(head + chunks + trailers.encode() + b"\r\n\r\n" + LAST)

    # The collector asks for no key, and the query service does not see this one.
    assert statuses(replies) == ([200, 200] if service.name == "collector" else [401, 200])


def test_a_body_in_single_bytes_with_short_extensions_is_accepted(service: RunningService) -> None:
    chunks = b"".join(b"1;n=%d\r\n%c\r\n" % (n % 10, byte) for n, byte in enumerate(service.body))
    head = f"{service.head}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode()

    [reply] = service.say(head, chunks + b"0\r\nX-Sum: 1\r\n\r\n")

    assert reply.status == 200


@pytest.mark.parametrize(("size", "status"), [(1, 413), (16, 413), (64, 200), (4_096, 200)])
def test_a_long_body_of_tiny_chunks_is_rejected(
    services: dict[str, RunningService], size: int, status: int
) -> None:
    service = services["collector"]
    content = service.body + b" " * 60_000
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    head = f"{service.head}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode()

    [reply] = service.say(head + chunks)

    assert reply.status == status


HEADS = {
    "16 KiB in one field": "X-Long: " + "x" * 16_384 + "\r\n",
    "16 KiB in many fields": "".join(f"X-{n}: {'x' * 250}\r\n" for n in range(65)),
    "101 fields": "".join(f"X-{n}: 1\r\n" for n in range(101)),
    "200 KB": "X-Long: " + "x" * 200_000 + "\r\n",
}  # fmt: skip


@pytest.mark.parametrize("what", HEADS)
def test_a_head_that_is_too_large_is_rejected(service: RunningService, what: str) -> None:
    replies = service.say(LIVE + service.head.encode() + HEADS[what].encode() + b"\r\n")

    assert statuses(replies) == [200, 431]
    assert is_refusal(service, replies[-1], 431)


def test_a_repeated_api_key_header_is_invalid(services: dict[str, RunningService]) -> None:
    [field] = [one for one in services["query"].head.split("\r\n") if one.startswith("X-Api")]

    [reply] = services["query"].say(services["query"].good(f"{field}\r\nConnection: close\r\n"))

    assert is_refusal(services["query"], reply, 401)


@pytest.mark.parametrize(
    ("version", "hosts", "status"),
    [("1.1", 1, 200), ("1.1", 0, 400), ("1.1", 2, 400), ("1.0", 0, 200), ("1.0", 2, 400)],
)
def test_a_request_names_one_host(
    service: RunningService, version: str, hosts: int, status: int
) -> None:
    head = f"GET /health/live HTTP/{version}\r\n" + "Host: x.example\r\n" * hosts

    [reply] = service.say(f"{head}Connection: close\r\n\r\n".encode())

    assert reply.status == status
    assert status == 200 or b"Host" in reply.body


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(
            (host, 200)
            for host in ("x.example", "x.example:80", "[::1]:4000", "192.0.2.7", "a_b", "")
        ),
        *(
            (host, 400)
            for host in ("x/y", "a b", "user@x.example", "x:port", "[::1", "x\u00e9", "<b>")
        ),
    ],
)
def test_a_host_is_a_host(service: RunningService, host: str, status: int) -> None:
    head = f"GET /health/live HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"

    [reply] = service.say(head.encode())

    assert reply.status == status
    assert status == 200 or b"Host header" in reply.body


@pytest.mark.parametrize("version", ["0.9", "2.0"])
def test_a_request_by_another_version_of_http_is_refused(
    service: RunningService, version: str
) -> None:
    [reply] = service.say(f"GET /health/live HTTP/{version}\r\nHost: x.example\r\n\r\n".encode())

    assert reply.status == 400
    assert b"version of HTTP" in reply.body


def test_every_response_has_nosniff(service: RunningService) -> None:
    answered = [service.call("GET", path) for path in ("/health/live", "/none", "/openapi.json")]
    answered += service.say(b"rubbish\r\n\r\n")

    assert {reply.headers["x-content-type-options"] for reply in answered} == {"nosniff"}


@pytest.mark.parametrize(("name", "path"), [("collector", "/l/none"), ("query", "/docs")])
def test_pages_forbid_frames(services: dict[str, RunningService], name: str, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nConnection: close\r\n\r\n"

    [page] = services[name].say(request.encode())

    assert page.headers["content-type"].startswith("text/html")
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_a_half_closed_client_gets_its_responses(service: RunningService) -> None:
    with service.connect() as connection:
        connection.sendall(service.good() + LIVE + service.good())
        connection.shutdown(socket.SHUT_WR)

        assert statuses(read_replies(connection)) == [200, 200, 200]


def test_a_client_that_half_closes_within_a_body_is_closed(service: RunningService) -> None:
    with service.connect() as connection:
        connection.sendall(LIVE + service.good()[:-1])
        connection.shutdown(socket.SHUT_WR)

        assert statuses(read_replies(connection)) == [200]


def test_two_thousand_pipelined_requests_are_answered_in_order(
    services: dict[str, RunningService],
) -> None:
    collector = services["collector"]
    request = (collector.good() * 49 + LIVE) * 40

    with collector.connect() as connection:
        connection.sendall(request[:-1])
        connection.sendall(request[-1:])
        connection.shutdown(socket.SHUT_WR)
        replies = read_replies(connection)

    assert [reply.body[:18] for reply in replies] == (
        [b'{"status":"success'] * 49 + [b'{"status":"ok","se']
    ) * 40


@pytest.mark.parametrize("size", [10, 30_000])
def test_the_head_after_a_body_is_counted_from_its_own_begin(
    service: RunningService, size: int
) -> None:
    padded = service.body + b" " * size
    post = f"{service.head}Content-Length: {len(padded)}\r\n\r\n".encode() + padded

    with service.connect() as connection:
        connection.sendall(post + LIVE[:20])
        first = read_reply(connection)
        connection.sendall(LIVE[20:])
        second = read_reply(connection)

    assert (first.status, second.status) == (200, 200)


@pytest.mark.parametrize("before", [1, 3, 200])
def test_invalid_bytes_are_rejected_after_the_responses_that_are_due(
    service: RunningService, before: int
) -> None:
    replies = service.say(service.good() + LIVE * (before - 1) + b"rubbish\r\n\r\n" + LIVE)

    assert statuses(replies) == [200] * before + [400]
    assert is_refusal(service, replies[-1], 400)


def test_an_invalid_body_is_rejected_after_the_responses_that_are_due(
    service: RunningService,
) -> None:
    broken = f"{service.head}Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\nzz\r\n".encode()

    replies = service.say(LIVE + LIVE + broken)

    assert statuses(replies) == [200, 200, 400]
    assert is_refusal(service, replies[-1], 400)


def test_a_body_that_becomes_invalid_is_rejected(service: RunningService) -> None:
    with service.connect() as connection:
        connection.sendall(f"{service.head}Transfer-Encoding: chunked\r\n\r\n2\r\n[".encode())
        connection.sendall(b"]\r\nzz\r\n")
        [reply] = read_replies(connection)

    assert is_refusal(service, reply, 400)
