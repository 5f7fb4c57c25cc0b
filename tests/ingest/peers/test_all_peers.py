"""Processes of two machines, on a real server that is killed and comes back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from valkey.asyncio import Valkey

from ingest.peers.all_peers import AllPeers, PeerReader
from ingest.publishing.recent_requests import RecentRequest, RecentRequests
from schemas.runtime.settings import Settings
from tests.valkey_server import PASSWORD, ValkeyServer


class Process:
    """One process of a machine."""

    def __init__(self, machine: Path, server: ValkeyServer) -> None:
        password = machine.parent / "password"
        password.write_text(PASSWORD)
        settings = Settings(
            data_dir=str(machine), limits_url=server.url, limits_password_file=str(password)
        )
        self.recent = RecentRequests()
        self.peers = AllPeers.for_settings(settings, self.recent)

    def receive(self, name: str, at_ms: int) -> None:
        self.recent.add("shop", RecentRequest(at_ms, "events", 1, name.encode(), "r"))


@asynccontextmanager
async def two_machines(folder: Path, server: ValkeyServer) -> AsyncIterator[list[Process]]:
    """Two processes on the first machine and one on the second; all are connected."""
    processes = [Process(folder / machine, server) for machine in ("one", "one", "two")]
    async with (
        processes[0].peers.running(),
        processes[1].peers.running(),
        processes[2].peers.running(),
    ):
        await until_connected(processes[0], 2)
        yield processes


async def until_connected(process: Process, others: int) -> None:
    async with asyncio.timeout(60):

        async def is_connected() -> bool:
            await asyncio.sleep(0.05)
            peers = await PeerReader(process.peers, "").read()
            return (peers.processes, peers.warning) == (others, "")

        while not await is_connected():
            pass


def test_requests_of_all_machines_come_once_and_in_order(tmp_path: Path) -> None:
    async def read(server: ValkeyServer) -> None:
        async with two_machines(tmp_path, server) as (own, beside, far):
            for name, process, at_ms in (
                ("own", own, 1), ("d", far, 5), ("a", beside, 2), ("c", beside, 4), ("b", far, 3),
            ):  # fmt: skip
                process.receive(name, at_ms)
            far.recent.add("blog", RecentRequest(1, "events", 1, b"other", "r"))
            reader = PeerReader(own.peers, "shop")

            assert [each.envelope for each in (await reader.read()).requests] == [
                b"a", b"b", b"c", b"d",
            ]  # fmt: skip
            assert (await reader.read()).requests == []
            far.receive("e", 6)
            assert [each.envelope for each in (await reader.read()).requests] == [b"e"]

    with ValkeyServer() as server:
        asyncio.run(read(server))


def test_without_the_server_the_machine_replies_and_it_is_said(tmp_path: Path) -> None:
    async def lose(server: ValkeyServer) -> None:
        async with two_machines(tmp_path, server) as (own, beside, far):
            beside.receive("a", 1)
            far.receive("b", 2)
            reader = PeerReader(own.peers, "shop")
            await asyncio.to_thread(server.kill)

            lost = await reader.read()
            assert [each.envelope for each in lost.requests] == [b"a"]
            assert lost.processes == 1
            assert lost.warning.startswith(
                "only the requests of this machine are listed: the server 127.0.0.1:"
            )
            assert PASSWORD not in lost.warning

            await asyncio.to_thread(server.start)
            await until_connected(own, 2)
            assert [each.envelope for each in (await reader.read()).requests] == [b"b"]

    with ValkeyServer() as server:
        asyncio.run(lose(server))


@pytest.mark.long
def test_a_connection_without_messages_lasts(tmp_path: Path) -> None:
    """Longer than the 5 seconds after which the client takes a server for gone by default."""

    async def connections(server: ValkeyServer) -> set[str]:
        async with Valkey.from_url(server.url, password=PASSWORD) as client:
            return {each["id"] for each in await client.client_list(_type="pubsub")}

    async def wait(server: ValkeyServer) -> None:
        async with two_machines(tmp_path, server):
            before = await connections(server)
            await asyncio.sleep(6.5)
            assert len(before) == 3
            assert await connections(server) == before

    with ValkeyServer() as server:
        asyncio.run(wait(server))
