"""The HTTP protocol in this process, with limits of a test and a small application."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from schemas.http.asgi import ClientDisconnected, read_body, send_json
from schemas.http.connection_limits import ConnectionLimits, OpenConnections
from schemas.http.error_bodies import query_error
from schemas.http.protocol import HttpProtocol
from schemas.http.server import bind
from schemas.runtime.networks import parse_networks
from tests.installation import eventually, free_port

begun: list[str] = []
"""Paths of the requests that the application has begun."""
disconnected: list[str] = []
"""Paths whose clients left before they were answered."""
released = threading.Event()
"""Set by the test when `/slow` may answer."""
open_connections: list[OpenConnections] = []
"""Of the server that was started last."""


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """`/body` answers with the body, `/wait` when the client has left, `/slow` when released."""
    begun.append(scope["path"])
    try:
        if scope["path"] == "/body":
            await read_body(scope, receive, 10_000_000, 60)
        if scope["path"] == "/slow":
            while not released.is_set():  # noqa: ASYNC110 - set by another thread
                await asyncio.sleep(0.005)
        if scope["path"] == "/wait":
            while (await receive())["type"] != "http.disconnect":
                pass
            raise ClientDisconnected
    except ClientDisconnected:
        disconnected.append(scope["path"])
        return
    await send_json(send, 200, b"{}")


@contextmanager
def running_server(trusted: str = "", **limits: Any) -> Iterator[int]:
    """A server; its port."""
    begun.clear()
    disconnected.clear()
    released.clear()
    port = free_port()
    chosen = ConnectionLimits(sweep_seconds=0.1, probe_seconds=0.2, **limits)
    open_connections[:] = [OpenConnections(chosen, query_error, parse_networks(trusted))]
    bound: Any = partial(HttpProtocol, open_connections[0])
    config = uvicorn.Config(
        app, http=bound, loop="uvloop", ws="none", lifespan="off", log_config=None,
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    bound_socket = bind("127.0.0.1", port)

    def run() -> None:
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(server.serve(sockets=[bound_socket]))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        eventually(lambda: server.started, pause=0.01)
        yield port
    finally:
        released.set()
        server.should_exit = True
        thread.join(10)


def connect(port: int, peer: str = "127.0.0.1") -> socket.socket:
    """A bare connection, from an address of this machine."""
    return socket.create_connection(("127.0.0.1", port), 8, (peer, 0))
