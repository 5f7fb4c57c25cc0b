"""A head that a connection sends again is not parsed again, and means the same."""

import json
from typing import Any

import pytest

from ingest.server.fast_path import MAX_HEAD_BYTES, KnownHead
from schemas.http.asgi import BY_NAME
from tests.http_client import Reply
from tests.ingest.collector_process import CollectorProcess, published_names
from tests.ingest.server.test_hostile_input import reply_to
from tests.installation import eventually

LINES = ("POST /track?website_id=shop HTTP/1.1", "Host: x", "User-Agent: one")


def a_request(body: bytes, *more: str, lines: tuple[str, ...] = LINES) -> bytes:
    length = f"Content-Length: {len(body)}"
    return "\r\n".join((*lines, length, *more, "", "")).encode() + body


def known(data: bytes, body: bytes) -> KnownHead | None:
    """What is remembered of a request, with the scope that the parser would make."""
    head = data[: len(data) - len(body)].decode().split("\r\n")[1:-2]
    pairs = [tuple(line.split(": ", 1)) for line in head]
    headers = [(name.lower().encode(), value.encode()) for name, value in pairs]
    scope: dict[str, Any] = {"headers": headers}
    if len(dict(headers)) == len(headers):
        scope[BY_NAME] = dict(headers)
    return KnownHead.of(data, body, scope)


def test_the_same_head_with_any_length_is_recognized() -> None:
    head = known(a_request(b"{}", "Accept: */*"), b"{}")
    assert head is not None

    assert head.body_of(a_request(b"{}", "Accept: */*")) == b"{}"
    assert head.body_of(a_request(b"[" * 120, "Accept: */*")) == b"[" * 120
    scope = head.new_scope(120)
    assert dict(scope["headers"]) == scope[BY_NAME]
    assert scope[BY_NAME][b"content-length"] == b"120"
    assert head.new_scope(2)[BY_NAME][b"content-length"] == b"2"


@pytest.mark.parametrize(
    "data",
    [
        a_request(b"{}", "Accept: x"),
        a_request(b"{}", "Accept: */*").replace(b"one", b"two"),
        a_request(b"{}", "Accept: */*")[:-1],
        a_request(b"{}", "Accept: */*") + b"{",
        a_request(b"{}", "Accept: */*") * 2,
        a_request(b"{}", "Accept: */*").replace(b"h: 2", b"h: 02"),
        a_request(b"{}", "Accept: */*").replace(b"h: 2", b"h: +2"),
        a_request(b"{}", "Accept: */*").replace(b"h: 2", b"h: 2 "),
        a_request(b"{}", "Accept: */*").replace(b"h: 2", b"h: 2, 2"),
        a_request(b"{}", "Accept: */*").replace(b"h: 2", b"h: "),
        a_request(b"{}", "Accept: */*", "Content-Length: 2"),
        a_request(b"{}", "Accept: */*", "Transfer-Encoding: chunked"),
        b"",
    ],
)
def test_any_other_bytes_go_to_the_parser(data: bytes) -> None:
    head = known(a_request(b"{}", "Accept: */*"), b"{}")

    assert head is not None
    assert head.body_of(data) is None


@pytest.mark.parametrize(
    "more",
    [
        ("Transfer-Encoding: chunked",),
        (f"Cookie: {'x' * MAX_HEAD_BYTES}",),
        ("Content-Length: 3",),
    ],
)
def test_an_unusual_head_is_not_remembered(more: tuple[str, ...]) -> None:
    assert known(a_request(b"{}", *more), b"{}") is None


def named(name: str, padding: int = 0) -> bytes:
    return json.dumps({"name": name, "properties": {"text": "x" * padding}}).encode()


def counts(replies: list[Reply]) -> list[tuple[int, int]]:
    return [(reply.status, reply.json["count"]) for reply in replies]


def test_requests_on_one_connection_are_each_published_once(
    collector_process: CollectorProcess,
) -> None:
    other = (LINES[0], "Host: x", "User-Agent: two")
    with collector_process.connect() as connection:
        replies = []
        for data in (
            a_request(named("head-1")),
            a_request(named("head-2")),
            a_request(named("head-3", 100)),
            a_request(named("head-4"), lines=other),
            a_request(named("head-5")),
            a_request(named("head-6", 20_000)),
            a_request(named("head-7")),
        ):
            connection.sendall(data)
            replies.append(reply_to(connection))
        whole = a_request(named("head-8"))
        connection.sendall(whole[:60])
        connection.sendall(whole[60:])
        replies.append(reply_to(connection))

    assert counts(replies) == [(200, 1)] * 8
    names = [name for name in published_names(collector_process) if name.startswith("head-")]
    assert sorted(names) == [f"head-{number}" for number in range(1, 9)]


def test_a_request_that_is_refused_does_not_change_the_next_one(
    collector_process: CollectorProcess,
) -> None:
    with collector_process.connect() as connection:
        found = []
        for body in (named("again-1"), b"{no", named("again-2"), b"{}", named("again-3")):
            connection.sendall(a_request(body))
            reply = reply_to(connection)
            found.append((reply.status, reply.headers["x-request-id"]))

    assert [status for status, _ in found] == [200, 400, 200, 400, 200]
    assert len({request_id for _, request_id in found}) == 5


def test_two_requests_and_a_part_in_one_segment_are_two_requests(
    collector_process: CollectorProcess,
) -> None:
    first, second = a_request(named("pair-1")), a_request(named("pair-2"))
    with collector_process.connect() as connection:
        connection.sendall(first)
        assert reply_to(connection).status == 200
        connection.sendall(first.replace(b"pair-1", b"pair-3") + second + first[:-1])
        expected = ["pair-1", "pair-2", "pair-3"]
        eventually(lambda: pairs(collector_process) == expected, seconds=60)


def pairs(collector: CollectorProcess) -> list[str]:
    return sorted(name for name in published_names(collector) if name.startswith("pair-"))
