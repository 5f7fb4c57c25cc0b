"""Tee: copies of acknowledged requests, for the server of the product whose trackers send them.

It never delays or refuses a request: copies wait in a bounded queue, and are lost when it is full,
when the server does not take them, and at the end of the process. All are counted, by what became
of them. The HTTP client is loaded with the first copy.
"""

import asyncio
import importlib
import logging
import socket
import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from schemas.runtime.networks import parse_ip
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import TEE_REQUESTS

if TYPE_CHECKING:
    import aiohttp

log = logging.getLogger(__name__)

MAX_SENDERS = 8
"""Copies that are under way at once."""
SEND_SECONDS = 10.0
PAUSE_SECONDS = 30.0
"""For which a server gets nothing after it did not answer: others shall not wait for it."""
MAX_REPLY_BYTES = 64 * 1024
"""Of a reply that is read, to keep the connection."""


class Copy(Struct, frozen=True):
    """A request to send."""

    method: str
    url: str
    """Percent-encoded."""
    headers: Mapping[str, str]
    body: bytes
    """As it was received."""

    @property
    def size(self) -> int:
        """Bytes that it takes in the queue."""
        return len(self.url) + len(self.body) + sum(map(len, self.headers.values()))

    @property
    def server(self) -> str:
        """Scheme, host and port."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


class AddressRefused(OSError):
    """A name has the address of a private network, of this machine or of none."""


class Tee:
    """Sends copies in the background."""

    def __init__(self, settings: Settings) -> None:
        self._max_copies = settings.tee_requests
        self._max_bytes = settings.tee_mb * 1024 * 1024
        self._to_private = settings.tee_private
        self._waiting: deque[Copy] = deque()
        self._bytes = 0
        """Of the copies that wait or are under way."""
        self._senders: set[asyncio.Task[None]] = set()
        self._session: asyncio.Task[aiohttp.ClientSession] | None = None
        self._paused_until: dict[str, float] = {}
        """Monotonic seconds, by server."""

    def offer(self, copy: Copy) -> None:
        """Queue a copy, unless the queue is full or its server is paused."""
        if self._is_paused(copy):
            TEE_REQUESTS.labels("paused").inc()
        elif len(self._waiting) >= self._max_copies or self._bytes + copy.size > self._max_bytes:
            TEE_REQUESTS.labels("queue full").inc()
        else:
            self._waiting.append(copy)
            self._bytes += copy.size
            if len(self._senders) < MAX_SENDERS:
                sender = asyncio.get_running_loop().create_task(self._send_waiting())
                self._senders.add(sender)
                sender.add_done_callback(self._senders.discard)

    async def close(self) -> None:
        """Give up what is not sent."""
        TEE_REQUESTS.labels("stopped").inc(len(self._waiting))
        self._waiting.clear()
        for sender in self._senders:
            sender.cancel()
        await asyncio.gather(*self._senders, return_exceptions=True)
        if self._session is not None:
            await (await self._session).close()

    async def _send_waiting(self) -> None:
        if self._session is None:
            self._session = asyncio.create_task(self._open_session())
        session = await asyncio.shield(self._session)
        while self._waiting:
            copy, outcome = self._waiting.popleft(), "stopped"
            try:
                outcome = "paused" if self._is_paused(copy) else await self._send(session, copy)
            finally:
                TEE_REQUESTS.labels(outcome).inc()
                self._bytes -= copy.size

    async def _send(self, session: "aiohttp.ClientSession", copy: Copy) -> str:
        """What became of a copy."""
        import aiohttp
        from yarl import URL

        try:
            async with session.request(
                copy.method,
                URL(copy.url, encoded=True),
                headers=copy.headers,
                data=copy.body or None,
                allow_redirects=False,
            ) as response:
                await response.content.read(MAX_REPLY_BYTES)
                return "sent" if response.status < 300 else "refused"
        except ValueError:  # a URL or header that HTTP does not permit
            return "refused"
        except (aiohttp.ClientError, TimeoutError) as error:
            self._paused_until[copy.server] = time.monotonic() + PAUSE_SECONDS
            reason = "address" if _is_refused(error) else "no reply"
            log.warning("copy of a request not sent", extra={"server": copy.server, "why": reason})
            return reason

    def _is_paused(self, copy: Copy) -> bool:
        return time.monotonic() < self._paused_until.get(copy.server, 0.0)

    async def _open_session(self) -> "aiohttp.ClientSession":
        # In a thread, as loading it takes longer than requests should wait.
        await asyncio.to_thread(importlib.import_module, "aiohttp")
        import aiohttp

        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=MAX_SENDERS, socket_factory=None if self._to_private else public_socket
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=SEND_SECONDS),
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            auto_decompress=False,
        )


def public_socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket for an address, as `getaddrinfo` gives it; AddressRefused for a private one.

    After the name was resolved, as it may mean another address now than when it was registered.
    """
    family, kind, protocol, _, place = address
    ip = parse_ip(str(place[0]))
    if ip is None or not ip.is_global or ip.is_multicast:
        raise AddressRefused("TIDEMARK_TEE_PRIVATE permits addresses of private networks")
    return socket.socket(family, kind, protocol)


def _is_refused(error: Exception) -> bool:
    return isinstance(getattr(error, "os_error", None), AddressRefused)
