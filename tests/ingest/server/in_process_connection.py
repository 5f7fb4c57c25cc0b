"""A connection to a collector in this process: its protocol without a socket."""

import asyncio
from collections.abc import Sequence
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from ingest.server.http_protocol import CollectorProtocol
from schemas.http.connection_limits import ConnectionLimits, OpenConnections
from schemas.http.error_bodies import collect_error
from schemas.http.health import Drain
from schemas.http.protocol import NOSNIFF_HEADER
from tests.asgi_client import ADDRESS
from tests.ingest.in_memory_collector import InMemoryCollector


class RecordingTransport(asyncio.Transport):
    """What the collector writes."""

    def __init__(self) -> None:
        super().__init__({"peername": (ADDRESS, 51234), "sockname": ("127.0.0.1", 80)})
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def write_eof(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class InProcessConnection:
    """One connection; `paths` are those of the requests that ran the application."""

    def __init__(
        self, collector: InMemoryCollector, protocol: type[CollectorProtocol] = CollectorProtocol
    ) -> None:
        self.paths: list[str] = []
        self.wire = RecordingTransport()
        self.drain = Drain()
        self.state = ServerState()
        self.state.default_headers = [NOSNIFF_HEADER]

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            self.paths.append(scope["path"])
            await collector.app(scope, receive, send)

        config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None)
        config.load()
        shared = OpenConnections(ConnectionLimits(), collect_error, drain=self.drain)
        self.protocol = protocol(shared, config=config, server_state=self.state, app_state={})
        self.protocol.connection_made(self.wire)

    async def send(self, *data: bytes) -> bytes:
        """What is written for these segments."""
        before = len(self.wire.written)
        for segment in data:
            self.protocol.data_received(segment)
        for _ in range(20):
            await asyncio.sleep(0)
        return self.wire.written[before:]


def exchange(collector: InMemoryCollector, data: Sequence[bytes]) -> tuple[list[bytes], int]:
    """The responses to these requests on one connection, and how many ran the application."""

    async def run() -> tuple[list[bytes], int]:
        connection = InProcessConnection(collector)
        responses = [await connection.send(each) for each in data]
        return responses, len(connection.paths)

    return asyncio.run(run())


LINES = ("Host: x", "User-Agent: one", "Origin: https://shop.example/%25", "Accept-Language: de")


def a_post(body: bytes, *more: str, target: str = "/track?website_id=shop") -> bytes:
    """A request in one piece."""
    length = f"Content-Length: {len(body)}"
    head = "\r\n".join((f"POST {target} HTTP/1.1", *LINES, *more, length, "", ""))
    return head.encode() + body
