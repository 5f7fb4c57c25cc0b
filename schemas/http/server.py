"""Server: runs an ASGI application under uvicorn until a signal, with heartbeats."""

import asyncio
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from schemas.http.connection_limits import ConnectionLimits, OpenConnections
from schemas.http.error_bodies import ErrorShape
from schemas.http.health import Drain, HealthCheck
from schemas.http.protocol import NOSNIFF_HEADER, HttpProtocol, check_uvicorn
from schemas.runtime import log_setup
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import Heartbeat, remove_heartbeat, write_heartbeat
from schemas.runtime.library_names import UnsupportedLibrary
from schemas.runtime.networks import parse_networks
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

HEARTBEAT_INTERVAL_SECONDS = 2.0
STARTING = "starting"
SHUTDOWN_TIMEOUT_SECONDS = 20
SHUTDOWN_POLL_SECONDS = 0.1
LAST_CONNECTIONS_SECONDS = 0.25
"""For the requests of connections that were accepted together with the close of the listener."""
RESERVED_FILES = 256 + ConnectionLimits().lingering
"""File descriptors that a service needs besides its connections."""


class DrainingServer(uvicorn.Server):
    """A server that drains for some seconds after the signal; a second signal ends the drain."""

    def __init__(self, config: uvicorn.Config, drain: Drain, seconds: float) -> None:
        super().__init__(config)
        self._drain = drain
        self._seconds = seconds
        self._hurry = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._hurry = self.should_exit
        super().handle_exit(sig, frame)

    async def main_loop(self) -> None:
        await super().main_loop()
        self._drain.begun = True
        self.server_state.default_headers = [
            *self.server_state.default_headers,
            (b"connection", b"close"),
        ]
        clock = asyncio.get_running_loop().time
        until = clock() + self._seconds
        while clock() < until and not self._hurry:  # noqa: ASYNC110 - uvicorn has no event
            await asyncio.sleep(SHUTDOWN_POLL_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._close_listeners(sockets or [])
        await super().shutdown(sockets)

    async def _close_listeners(self, listeners: Sequence[socket.socket]) -> None:
        """Close them, and serve the connections that were waiting to be accepted.

        Between the last `accept` and `close` nothing else runs: with several processes on one port
        the kernel would reset what it has given to a listener that closes.
        """
        waiting = [connection for listener in listeners for connection in accept_all(listener)]
        for server in self.servers:
            server.close()
        for listener in listeners:
            listener.close()
        loop = asyncio.get_running_loop()
        for connection in waiting:
            with suppress(OSError):  # the client is gone
                await loop.connect_accepted_socket(self._new_connection, connection)
        if self._seconds:
            await asyncio.sleep(LAST_CONNECTIONS_SECONDS)

    def _new_connection(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )


def accept_all(listener: socket.socket) -> Sequence[socket.socket]:
    """Every connection that waits at the listener."""
    accepted: list[socket.socket] = []
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            connection.setblocking(False)
            accepted.append(connection)
    return accepted


def bind(host: str, port: int) -> socket.socket:
    """A socket on a port that several processes can share (SO_REUSEPORT).

    It listens once the application has started: the kernel sends connections to every listener.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listening.bind((host, port))
    listening.setblocking(False)
    return listening


def serve(
    app: ASGIApp,
    settings: Settings,
    name: str,
    port: int,
    problem: HealthCheck,
    shape: ErrorShape,
    protocol: type[HttpProtocol] = HttpProtocol,
    on_stop: Callable[[], None] = lambda: None,
    warning: Callable[[], str | None] = lambda: None,
    drain: Drain | None = None,
) -> None:
    """Block until SIGINT or SIGTERM; then drain, and finish active requests within 20 s.

    `problem` says why the process is not ready. `shape` is the shape of error bodies. `on_stop` is
    called at the signal, to end endless responses. `warning` is part of the heartbeat, for
    `tidemark status`. `drain` is what the health checks of the application look at.
    """
    try:
        check_uvicorn()
    except UnsupportedLibrary as error:
        sys.exit(f"{name}: {error}")
    log_setup.set_up_logging(settings)
    drain = drain or Drain()
    connections = OpenConnections(
        connection_limits(settings), shape, parse_networks(settings.trusted_proxies), drain
    )
    protocol_factory: Any = partial(protocol, connections)  # uvicorn only calls the factory
    config = uvicorn.Config(
        app,
        http=protocol_factory,
        loop="uvloop",
        ws="none",
        proxy_headers=False,  # trusted proxies are a setting of ours
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        headers=[(name.decode(), value.decode()) for name, value in [NOSNIFF_HEADER]],
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        backlog=2048,
    )
    server = DrainingServer(config, drain, settings.drain_seconds)
    listening = bind(settings.host, port)
    # uvicorn raises the signal again after its graceful shutdown, when it is obeyed already.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ignore_signal)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        heartbeats = partial(
            _write_heartbeats,
            settings.data / "run",
            name,
            lambda: drain.problem() or (problem() if server.started else STARTING),
            warning,
        )
        try:
            runner.run(_serve(server, listening, heartbeats, on_stop))
        finally:
            remove_heartbeat(settings.data / "run", name)


def connection_limits(settings: Settings) -> ConnectionLimits:
    """The configured limits, as far as the process may open file descriptors."""
    needed = settings.connections + RESERVED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    available = needed if soft == resource.RLIM_INFINITY else soft
    return ConnectionLimits(
        connections=max(1, min(needed, available) - RESERVED_FILES),
        address_connections=settings.address_connections,
        stalled_seconds=settings.stalled_seconds,
    )


def _ignore_signal(_number: int, _frame: FrameType | None) -> None:
    """Ignore the signal: the server has stopped."""


async def _serve(
    server: uvicorn.Server,
    listening: socket.socket,
    write_heartbeats: Callable[[], Coroutine[Any, Any, None]],
    on_stop: Callable[[], None],
) -> None:
    tasks = [
        asyncio.create_task(write_heartbeats()),
        asyncio.create_task(_notify_shutdown(server, on_stop)),
    ]
    try:
        await server.serve(sockets=[listening])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _notify_shutdown(server: uvicorn.Server, on_stop: Callable[[], None]) -> None:
    while not server.should_exit:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(SHUTDOWN_POLL_SECONDS)
    on_stop()


async def _write_heartbeats(
    run: Path, name: str, problem: HealthCheck, warning: Callable[[], str | None]
) -> None:
    # A thread of its own: when all threads wait for a store, the process still runs.
    thread = ThreadPoolExecutor(1, "heartbeat")
    loop, state = asyncio.get_running_loop(), STARTING
    while True:
        unready_reason = problem()
        if unready_reason is None:
            state = "ready"
        elif state == "ready":
            state = "unready"
        heartbeat = Heartbeat(
            name,
            os.getpid(),
            now_ms(),
            state,
            unready_reason=unready_reason or "",
            warning=warning() or "",
        )
        try:
            await loop.run_in_executor(thread, write_heartbeat, run, heartbeat)
        except OSError as error:  # the disk may have space again in a moment
            log.warning("heartbeat not written", extra={"reason": str(error)})
        await asyncio.sleep(HEARTBEAT_INTERVAL_SECONDS if state == "ready" else 0.2)
