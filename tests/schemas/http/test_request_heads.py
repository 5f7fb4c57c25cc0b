"""Heads that are too large or ambiguous, hosts that are none and other versions of HTTP."""

import pytest

from tests.schemas.http.services import LIVE, RunningService, is_refusal, statuses

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
