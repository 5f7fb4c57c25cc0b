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
        self._last_started = 0
        self._since = 0.0
        self._started = 0

    def start_or_queue(self, connection: Pipelined) -> None:
        """Start the next request of the connection now or later."""
        if self._waiting:
            self._waiting.append(connection)
        elif id(connection) == self._last_started or self._may_start():
            self._last_started = id(connection)
            connection.begin_next()
        else:
            self._waiting.append(connection)
            self._schedule()

    def _may_start(self) -> bool:
        now = asyncio.get_running_loop().time()
        if now - self._since >= PAUSE_SECONDS:
            self._since, self._started = now, 0
        self._started += 1
        return self._started <= STARTS

    def _schedule(self) -> None:
        asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._start_queued)

    def _start_queued(self) -> None:
        self._since = asyncio.get_running_loop().time()
        self._started, self._last_started = STARTS, 0
        # All are dequeued before any starts: a connection with more requests goes to the end.
        batch = [self._waiting.popleft() for _ in range(min(STARTS, len(self._waiting)))]
        if self._waiting:
            self._schedule()
        for connection in batch:
            connection.begin_next()
