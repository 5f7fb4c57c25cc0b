"""Requests to addresses of users reach public hosts and permitted networks, and nothing else."""

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from query.notify.guarded_http import (
    MAX_REPLY_BYTES,
    GuardedHttp,
    PostFailed,
    Reply,
    is_public,
)
from schemas.runtime.environment import InvalidSetting, load_settings
from schemas.runtime.networks import parse_networks
from tests.installation import free_port
from tests.query.notify.receiver import receiving
from tests.tls_proxy import Certificates

LOOPBACK = parse_networks("127.0.0.1")
PUBLIC = "93.184.216.34"


def resolver(*answers: Sequence[str]) -> Callable[[str, int], Awaitable[Sequence[str]]]:
    """A name server: its answers in turn, the last one again and again."""
    remaining = list(answers)

    async def resolve(host: str, port: int) -> Sequence[str]:
        return remaining.pop(0) if len(remaining) > 1 else remaining[0]

    return resolve


def post(url: str, http: GuardedHttp) -> Reply:
    return asyncio.run(http.post(url, {}, b"{}"))


def failure(url: str, http: GuardedHttp) -> PostFailed:
    with pytest.raises(PostFailed) as raised:
        post(url, http)
    return raised.value


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Hosts to which connections are tried; none is made."""
    hosts: list[str] = []

    async def connect_tcp(remote_host: str, remote_port: int, **_: Any) -> None:
        hosts.append(remote_host)
        raise OSError

    monkeypatch.setattr(anyio, "connect_tcp", connect_tcp)
    return hosts


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "127.0.0.1", "127.1", "0x7f.1", "2130706433", "0", "0.0.0.0"),
        *("10.0.0.5", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1"),
        *("[::1]", "[::]", "[fd00::1]", "[fe80::1]", "[ff02::1]", "[fec0::1]", "[2001:db8::1]"),
        *("[::ffff:10.0.0.1]", "[::ffff:7f00:1]", "[::10.0.0.1]"),
        *("[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]", "[2002:a00:1::]", "[2001::1]", "[100::1]"),
    ],
)
@pytest.mark.parametrize("scheme", ["https", "http"])
def test_private_addresses_are_refused_however_written(
    scheme: str, host: str, connections: list[str]
) -> None:
    error = failure(f"{scheme}://{host}/s3cret", GuardedHttp())

    assert error.refused
    assert "private network, which only TIDEMARK_WEBHOOK_NETWORKS permits" in error.problem
    assert "s3cret" not in error.problem
    assert connections == []


@pytest.mark.parametrize(
    "addresses", [["10.0.0.5"], [PUBLIC, "10.0.0.5"], ["2606:2800:21f::1", "::ffff:10.0.0.5"]]
)
def test_a_name_is_refused_if_any_of_its_addresses_is_private(
    addresses: list[str], connections: list[str]
) -> None:
    error = failure("https://hooks.shop.example/s3cret", GuardedHttp(resolve=resolver(addresses)))

    assert error.refused
    assert error.problem == (
        "hooks.shop.example has the address of a private network, which only "
        "TIDEMARK_WEBHOOK_NETWORKS permits"
    )
    assert connections == []


@pytest.mark.parametrize("address", [PUBLIC, "2606:4700::1111", "64:ff9b::5db8:d822"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


def test_a_name_that_moves_after_the_check_is_not_followed(connections: list[str]) -> None:
    http = GuardedHttp(resolve=resolver([PUBLIC], ["127.0.0.1"]))

    error = failure("https://hooks.shop.example/", http)

    assert connections == [PUBLIC]
    assert not error.refused
    assert error.problem == "hooks.shop.example: no connection"


def test_further_addresses_are_tried(connections: list[str]) -> None:
    addresses = ["2606:4700::1111", PUBLIC]

    failure("https://hooks.shop.example/", GuardedHttp(resolve=resolver(addresses)))

    assert connections == addresses


def test_http_is_for_permitted_networks_only(connections: list[str]) -> None:
    error = failure("http://hooks.shop.example/", GuardedHttp(resolve=resolver([PUBLIC])))

    assert error.refused
    assert "by https:// only" in error.problem
    assert connections == []


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://shop.example/", "file:///etc/passwd", "https://", "https://[::1", "hooks"),
        *("https://0177.0.0.1/", "https://127.0.0.1%2f@shop.example:x/"),
    ],
)
def test_other_addresses_are_refused(url: str, connections: list[str]) -> None:
    assert failure(url, GuardedHttp(resolve=resolver([PUBLIC]))).refused
    assert connections == []


def test_a_name_without_an_address_may_have_one_later() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise OSError

    error = failure("https://hooks.shop.example/", GuardedHttp(resolve=resolve))

    assert (error.problem, error.refused) == ("hooks.shop.example: no such name", False)


def test_a_redirect_is_a_reply() -> None:
    async def scenario() -> tuple[Reply, int]:
        async with receiving(host="127.0.0.2") as target:
            reply = f"HTTP/1.1 302 Found\r\nlocation: {target.url}/\r\ncontent-length: 0\r\n\r\n"
            async with receiving(reply.encode()) as receiver:
                answer = await GuardedHttp(LOOPBACK).post(receiver.url, {}, b"{}")
            return answer, len(target.requests)

    reply, followed = asyncio.run(scenario())

    assert (reply.status, followed) == (302, 0)


def test_permitted_networks_are_those_of_the_setting() -> None:
    async def scenario() -> tuple[int, str]:
        http = GuardedHttp(parse_networks("10.0.0.0/8, 127.0.0.1/32"))
        async with receiving() as receiver, receiving(host="127.0.0.2") as other:
            reply = await http.post(receiver.url, {}, b"{}")
            with pytest.raises(PostFailed) as raised:
                await http.post(other.url, {}, b"{}")
            assert other.requests == []
            return reply.status, raised.value.problem

    status, problem = asyncio.run(scenario())

    assert status == 200
    assert problem.startswith("127.0.0.2 has the address of a private network")


def test_networks_that_are_none_are_named_at_start() -> None:
    with pytest.raises(InvalidSetting, match=r"^TIDEMARK_WEBHOOK_NETWORKS='10\.0\.0\.0/99': "):
        load_settings({"TIDEMARK_WEBHOOK_NETWORKS": "10.0.0.0/99"})


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
        monkeypatch.setenv(name.lower(), f"http://127.0.0.1:{free_port()}")

    async def scenario() -> int:
        async with receiving() as receiver:
            await GuardedHttp(LOOPBACK).post(receiver.url, {}, b"{}")
            return len(receiver.requests)

    assert asyncio.run(scenario()) == 1


def test_certificate_and_host_header_are_those_of_the_name(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path, "hooks.shop.example")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificates.server_file)
    trust = ssl.create_default_context(cafile=certificates.authority_file)
    http = GuardedHttp(LOOPBACK, resolve=resolver(["127.0.0.1"]), tls=trust)

    async def scenario() -> tuple[str, str]:
        async with receiving(tls=server) as receiver:
            await http.post(f"https://hooks.shop.example:{receiver.port}/a?b=c", {}, b"{}")
            with pytest.raises(PostFailed) as raised:
                await http.post(f"https://other.example:{receiver.port}/", {}, b"{}")
            [request] = receiver.requests
            assert request.headers["host"] == f"hooks.shop.example:{receiver.port}"
            return request.line, raised.value.problem

    line, problem = asyncio.run(scenario())

    assert line == "POST /a?b=c HTTP/1.1"
    assert problem.startswith("other.example: certificate not accepted (Hostname mismatch")


def test_a_reply_without_end_is_read_to_its_bound() -> None:
    async def scenario() -> Reply:
        async with receiving(b"HTTP/1.1 200 OK\r\n\r\n") as receiver:
            receiver.endless = True
            return await GuardedHttp(LOOPBACK).post(receiver.url, {}, b"{}")

    assert asyncio.run(scenario()).body == b"x" * MAX_REPLY_BYTES


def test_a_server_that_never_replies_ends_the_request() -> None:
    async def scenario() -> str:
        async with receiving(None) as receiver:
            with pytest.raises(PostFailed) as raised:
                await GuardedHttp(LOOPBACK, seconds=0.3).post(receiver.url, {}, b"{}")
            return raised.value.problem

    assert asyncio.run(scenario()).startswith("127.0.0.1 did not answer")


def test_a_server_that_is_away_or_speaks_no_http_is_named() -> None:
    async def scenario() -> str:
        async with receiving(b"SSH-2.0-OpenSSH_9.6\r\n") as receiver:
            with pytest.raises(PostFailed) as raised:
                await GuardedHttp(LOOPBACK).post(receiver.url, {}, b"{}")
            return raised.value.problem

    away = failure(f"http://127.0.0.1:{free_port()}/s3cret", GuardedHttp(LOOPBACK))

    assert (away.problem, away.refused) == ("127.0.0.1: no connection", False)
    assert asyncio.run(scenario()) == "127.0.0.1: the request failed (RemoteProtocolError)"


def test_addresses_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def scenario() -> None:
        async with receiving() as receiver:
            await GuardedHttp(LOOPBACK).post(f"{receiver.url}/s3cret", {}, b"{}")

    asyncio.run(scenario())

    assert "s3cret" not in caplog.text


def test_a_reply_whose_body_never_ends_is_a_reply() -> None:
    """Otherwise what a receiver took is sent to it again and again."""

    async def in_time() -> Reply:
        head = b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nok"
        async with receiving(head) as receiver:
            receiver.lingers = True
            http = GuardedHttp(LOOPBACK, seconds=2)
            return await http.post(f"{receiver.url}/a", {}, b"{}")

    assert asyncio.run(in_time()).status == 200


def test_a_body_that_breaks_off_is_a_reply() -> None:
    async def broken() -> Reply:
        async with receiving(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nok") as receiver:
            return await GuardedHttp(LOOPBACK).post(f"{receiver.url}/a", {}, b"{}")

    assert asyncio.run(broken()).status == 200


def test_names_that_nobody_answers_hold_no_threads_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A lookup goes on in its thread after it was given up."""
    answered = threading.Event()

    def getaddrinfo(*_: object, **__: object) -> list[object]:
        answered.wait(10)
        return []

    async def looked_up() -> float:
        http = GuardedHttp(seconds=0.2)
        posts = [http.post(f"https://{i}.tarpit.example/", {}, b"{}") for i in range(40)]
        failures = await asyncio.gather(*posts, return_exceptions=True)
        assert all(isinstance(one, PostFailed) for one in failures)
        begun = asyncio.get_running_loop().time()
        async with asyncio.timeout(2):
            await asyncio.to_thread(int)
        return asyncio.get_running_loop().time() - begun

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    try:
        assert asyncio.run(looked_up()) < 1
    finally:
        answered.set()


@pytest.mark.parametrize("url", ["https://[::1]-1/", "https://[::1]65536", "https://[::1]0"])
def test_a_port_that_is_none_is_refused(url: str) -> None:
    error = failure(url, GuardedHttp(parse_networks("::1"), resolve=resolver(["::1"])))

    assert error.refused
    assert error.problem == "the address is not a URL"
