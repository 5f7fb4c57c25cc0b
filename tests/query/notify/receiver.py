"""A receiver of notifications: a real HTTP server that keeps what it is sent."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import Struct

from tests.installation import free_port

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


def json_reply(status: str, body: object, *headers: str) -> bytes:
    """A reply with a JSON body."""
    content = msgspec.json.encode(body)
    head = (f"HTTP/1.1 {status}", f"content-length: {len(content)}", *headers, "", "")
    return "\r\n".join(head).encode() + content


class Received(Struct, frozen=True):
    """One request."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body."""
        return msgspec.json.decode(self.body)


class Receiver:
    """Replies with `reply`, without end if `endless`; None: it never replies.

    If it `lingers`, it keeps the connection after the reply.
    """

    def __init__(self, host: str, reply: bytes | None, scheme: str) -> None:
        self.reply, self.endless, self.lingers = reply, False, False
        self.requests: list[Received] = []
        self.port = free_port()
        self.url = f"{scheme}://{host}:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            line, *lines = head.decode().strip().split("\r\n")
            pairs = (one.split(": ", 1) for one in lines)
            headers = {name.lower(): value for name, value in pairs}
            body = await reader.readexactly(int(headers["content-length"]))
            self.requests.append(Received(line, headers, body))
            if self.reply is None:
                await asyncio.Event().wait()
            else:
                writer.write(self.reply)
            if self.lingers:
                await asyncio.Event().wait()
            while self.endless:
                writer.write(b"x" * 16_384)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving(
    reply: bytes | None = OK, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """A receiver at an address of this machine."""
    receiver = Receiver(host, reply, "https" if tls else "http")
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        await receiver.serve(reader, writer)

    server = await asyncio.start_server(serve, host, receiver.port, ssl=tls)
    try:
        yield receiver
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
