"""AllPeers: the other collector processes, of this machine and through the server of all machines.

Both ways are asked at once: the processes of this machine reply also while the server is away.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Self

from msgspec import Struct

from ingest.peers.machine_peers import MachinePeers, peers_folder
from ingest.peers.messages import OwnRequests, PeerLookup, PeerReplies, Peers
from ingest.peers.server_peers import ServerPeers
from ingest.publishing.recent_requests import RecentRequest, RecentRequests
from ingest.publishing.rejection_counts import RejectionCount
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

MAX_LOOKUPS = 4
"""Lookups at once; each may hold the kept requests of a website of all processes."""


class AllPeers:
    """Asks on all ways, and says which requests are missing."""

    def __init__(self, machine: MachinePeers, server: ServerPeers | None) -> None:
        self._machine = machine
        self._server = server
        self._free = asyncio.Semaphore(MAX_LOOKUPS)

    @classmethod
    def for_settings(cls, settings: Settings, recent_requests: RecentRequests) -> Self:
        own = OwnRequests(recent_requests)
        machine = MachinePeers(peers_folder(settings), own)
        return cls(machine, ServerPeers.for_settings(settings, own))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Reply to other processes meanwhile."""
        try:
            await self._machine.start()
        except OSError as error:
            log.warning("recent requests not shared", extra={"reason": str(error)})
        subscription = asyncio.create_task(self._server.run()) if self._server else None
        try:
            yield
        finally:
            await self._machine.close()
            if self._server is not None and subscription is not None:
                subscription.cancel()
                with suppress(asyncio.CancelledError):
                    await subscription
                await self._server.close()

    async def ask(self, lookup: PeerLookup) -> PeerReplies:
        async with self._free:
            machine, server = await asyncio.gather(
                _ask(self._machine, lookup), _ask(self._server, lookup)
            )
        by_process = {
            reply.process: reply
            for reply in sorted((*machine.replies, *server.replies), key=lambda reply: reply.last)
        }
        expected = len(server.replies) + server.silent
        silent = max(0, machine.silent, expected - len(by_process))
        warning = self._warning(machine.warning, server.warning, silent)
        return PeerReplies([*by_process.values()], silent, warning)

    def _warning(self, machine: str, server: str, silent: int) -> str:
        if self._server is None and machine:
            return f"only the requests of this process are listed: {machine}"
        if self._server is not None and server:
            whose = "process" if machine else "machine"
            where = f"the server {self._server.address} does not respond ({server})"
            return f"only the requests of this {whose} are listed: {where}"
        if silent:
            return f"requests are missing: {silent} other collector processes did not respond"
        return ""


async def _ask(peers: Peers | None, lookup: PeerLookup) -> PeerReplies:
    """The replies; with a warning if nobody can be asked."""
    try:
        return PeerReplies() if peers is None else await peers.ask(lookup)
    except OSError as error:
        return PeerReplies(warning=str(error) or repr(error))


class PeerRequests(Struct, frozen=True):
    """Requests of other processes, oldest first."""

    requests: Sequence[RecentRequest]
    processes: int
    """Other processes that replied."""
    warning: str
    rejections: Sequence[RejectionCount]
    """Of the first read."""


class PeerReader:
    """Reads the requests of a website that other processes received since the last read."""

    def __init__(self, peers: Peers, subject_id: str) -> None:
        self._peers = peers
        self._subject_id = subject_id
        self._after: dict[str, int] = {}

    async def read(self) -> PeerRequests:
        replies = await self._peers.ask(PeerLookup(self._subject_id, self._after))
        # A process without a reply is asked for the same again.
        self._after |= {reply.process: reply.last for reply in replies.replies}
        requests = [request for reply in replies.replies for request in reply.requests]
        requests.sort(key=lambda request: request.at_ms)
        rejections = [each for reply in replies.replies for each in reply.rejections]
        return PeerRequests(requests, len(replies.replies), replies.warning, rejections)
