"""Half-closed connections, pipelines, and requests that end one, against both services."""

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
