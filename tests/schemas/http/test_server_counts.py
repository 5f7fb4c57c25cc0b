"""Counts on a real Valkey server: reached over TLS, expiring, and reserved for those who wait."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from valkey import Valkey

from schemas.http import server_counts as counts_of_servers
from schemas.http.rate_limit import STEP_MS
from schemas.http.rate_limit_headers import WINDOW_MS
from schemas.http.server_counts import ServerCounts, Wanted, server_address, server_counts
from schemas.http.shared_counts import Counted
from schemas.runtime.settings import Settings
from tests.installation import free_port
from tests.tls_proxy import Certificates, TlsProxy
from tests.valkey_server import PASSWORD, ValkeyServer

A = b"a" * 16


@pytest.fixture(scope="module")
def server() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


def test_a_server_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    password_file = tmp_path / "password"
    password_file.write_text("secret\n")
    settings = Settings(
        data_dir=str(tmp_path),
        limits_url=f"redis://127.0.0.1:{free_port()}",
        limits_password_file=str(password_file),
    )
    counts = server_counts(settings)
    assert counts is not None

    async def add() -> None:
        with pytest.raises(OSError, match=r"127\.0\.0\.1"):
            await counts.add([Counted(A, 1)])
        await counts.close()

    asyncio.run(add())
    assert server_counts(Settings(data_dir=str(tmp_path))) is None


def test_the_certificate_of_a_server_with_tls_is_verified(
    tmp_path: Path, server: ValkeyServer
) -> None:
    ours, others = Certificates(tmp_path / "ours"), Certificates(tmp_path / "others")
    password = tmp_path / "password"
    password.write_text(PASSWORD)

    async def added(host: str, authority: Path | None) -> int:
        """The requests in the window, counted over TLS."""
        settings = Settings(
            data_dir=str(tmp_path),
            limits_url=f"rediss://{host}:{proxy.port}/0",
            limits_password_file=str(password),
            limits_ca_file=str(authority or ""),
        )
        counts = server_counts(settings)
        assert counts is not None
        try:
            (counted,) = await counts.add([Counted(b"t" * 16, 1)])
        finally:
            await counts.close()
        return counted.requests

    with TlsProxy(server.port, ours) as proxy:
        assert asyncio.run(added("127.0.0.1", ours.authority_file)) == 1
        for authority in (others.authority_file, None):
            with pytest.raises(OSError, match="certificate verify failed"):
                asyncio.run(added("127.0.0.1", authority))
        with pytest.raises(OSError, match="not valid for 'localhost'"):
            asyncio.run(added("localhost", ours.authority_file))
        assert asyncio.run(added("127.0.0.1", ours.authority_file)) == 2


def test_an_address_has_no_password() -> None:
    assert server_address("rediss://user:secret@limits.example:7000/1") == "limits.example:7000"


def test_counts_of_a_server_expire(server: ValkeyServer) -> None:
    async def add() -> None:
        counts = ServerCounts(server.url, password=PASSWORD)
        await counts.add([Counted(b"c" * 16, 1)])
        await counts.close()

    asyncio.run(add())
    with closing(Valkey(port=server.port, password=PASSWORD)) as client:
        key = counts_of_servers.KEY_PREFIX + (b"c" * 16).hex().encode()
        left: Any = client.pttl(key)
    assert 0 < left <= WINDOW_MS + 2 * STEP_MS


def test_what_is_wanted_is_counted_as_far_as_it_fits(server: ValkeyServer) -> None:
    async def reserve() -> list[tuple[int, int]]:
        """Reserved requests and the sum of the window, of one attempt after the other."""
        counts = ServerCounts(server.url, password=PASSWORD)
        results = []
        for added, wanted in (
            (Counted(b"w" * 16, 3), Wanted(10, 4, 1)),
            (Counted(b"w" * 16), Wanted(10, 4, 1)),
            (Counted(b"w" * 16), Wanted(10, 1, 1)),
            (Counted(b"v" * 16), Wanted(10, 25, 20)),  # only an empty bucket has room for so many
            (Counted(b"v" * 16), Wanted(10, 1, 1)),
        ):
            [counted] = await counts.reserve([(added, wanted)])
            results.append((counted.reserved, counted.requests))
        await counts.close()
        return results

    assert asyncio.run(reserve()) == [(4, 7), (3, 10), (0, 10), (20, 20), (0, 20)]
