"""Drain: a stopping server says that it is not ready, and serves until nobody is sent to it.

A load balancer needs a moment to notice that a process is not ready, and a client that keeps its
connection learns from `Connection: close` that it needs another one. Only then is the listener
closed; connections that the kernel has completed by then are still served.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

STOPPING = "the process is stopping"
POLL_SECONDS = 0.05
START_SECONDS = 3.0


class Drain:
    """Whether the server is about to stop; shared by its health checks and connections."""

    begun = False

    def problem(self) -> str | None:
        """The health check: a process that stops is not ready."""
        return STOPPING if self.begun else None


def accept_all(listener: socket.socket) -> Sequence[socket.socket]:
    """Every connection that waits at the listener."""
    accepted: list[socket.socket] = []
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            connection.setblocking(False)
            accepted.append(connection)
    return accepted


async def until_ready(ready: Callable[[], bool], seconds: float = START_SECONDS) -> None:
    """Return when the process can serve, so that it listens only then.

    After so many seconds it listens anyway: health checks and whatever needs no other process
    respond, and everything else gets a 503 with its reason.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not ready():  # noqa: ASYNC110 - readiness is a check, without an event
                await asyncio.sleep(POLL_SECONDS)
