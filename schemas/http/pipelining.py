"""Pipelining: pipelined requests of all connections start in turn (fair queueing).

Fair queueing of connections: a browser has one request on a connection, and who pipelines on many
would have the event loop, and Python's lock, all to itself. One connection alone goes on at once,
so its own pipeline waits for nobody.
"""

import asyncio
from collections import deque
from typing import Protocol

STARTS = 4
PAUSE_SECONDS = 0.002
"""Of all connections that pipeline, so many requests begin in that time. The loop sleeps between,
so that threads get on which wait for Python's lock."""


class Pipelined(Protocol):
    """A connection on which requests wait."""

    def begin_next(self) -> None:
        """Begin the next one, if it still waits."""


class PipelineScheduler:
    """Who may begin its next request, of all connections of one server."""

    def __init__(self) -> None:
        self._waiting: deque[Pipelined] = deque()
        self._last = 0
        self._since = 0.0
        self._begun = 0

    def take(self, connection: Pipelined) -> None:
        """Begin the next request of the connection now, or when its turn comes."""
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
        # All are taken off before any begins: one that is done at once comes behind the others.
        turns = [self._waiting.popleft() for _ in range(min(STARTS, len(self._waiting)))]
        if self._waiting:
            self._go_on_later()
        for connection in turns:
            connection.begin_next()
