"""Pipelining: pipelined requests of all connections start in turn (fair queueing).

A browser has one request on a connection; a client that pipelines on many connections would occupy
the event loop and Python's lock. A single connection goes on at once.
"""

import asyncio
from collections import deque
from typing import Protocol

STARTS = 4
PAUSE_SECONDS = 0.002
"""Pipelined requests that start per pause. The event loop sleeps in between, so that threads that
wait for Python's lock can run."""


class Pipelined(Protocol):
    """A connection with pipelined requests."""

    def begin_next(self) -> None:
        """Start the next request, if one waits."""


class PipelineScheduler:
    """Starts pipelined requests of all connections of a server in turn."""

    def __init__(self) -> None:
        self._waiting: deque[Pipelined] = deque()
        self._last = 0
        self._since = 0.0
        self._begun = 0

    def take(self, connection: Pipelined) -> None:
        """Start the next request of the connection now or later."""
        if self._waiting:
            self._waiting.append(connection)
        elif id(connection) == self._last or self._has_turn():
            self._last = id(connection)
            connection.begin_next()
        else:
            self._waiting.append(connection)
            self._go_on_later()

    def _has_turn(self) -> bool:
        now = asyncio.get_running_loop().time()
        if now - self._since >= PAUSE_SECONDS:
            self._since, self._begun = now, 0
        self._begun += 1
        return self._begun <= STARTS

    def _go_on_later(self) -> None:
        asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._go_on)

    def _go_on(self) -> None:
        self._since, self._begun, self._last = asyncio.get_running_loop().time(), STARTS, 0
        # All are dequeued before any starts: a connection with more requests goes to the end.
        turns = [self._waiting.popleft() for _ in range(min(STARTS, len(self._waiting)))]
        if self._waiting:
            self._go_on_later()
        for connection in turns:
            connection.begin_next()
