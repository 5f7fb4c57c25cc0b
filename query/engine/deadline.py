"""Interrupts a cursor when its time is over."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import duckdb

from schemas.errors import QueryTimeout


class Deadline:
    """Interrupts a cursor from the moment its time is over until it has stopped."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, at: float) -> None:
        self._cursor = cursor
        self._at = at
        self._handle: asyncio.TimerHandle | None = None
        self._ended: Callable[[], bool] = bool  # `bool()` is False: not ended
        self.passed = False

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the timer."""
        self._handle = loop.call_at(self._at, self._interrupt, loop)

    def stop(self) -> None:
        """Stop the timer: the query has ended."""
        if self._handle is not None:
            self._handle.cancel()

    def interrupt_until(
        self, loop: asyncio.AbstractEventLoop, has_ended: Callable[[], bool]
    ) -> None:
        """Interrupt now, and again until the query has ended: the client is gone."""
        self.stop()
        self._ended = has_ended
        self._interrupt(loop)

    def _interrupt(self, loop: asyncio.AbstractEventLoop) -> None:
        self.passed = True
        if self._ended():
            return
        # Its thread may have closed it a moment ago: then the query has ended by itself.
        with suppress(duckdb.ConnectionException):
            self._cursor.interrupt()
        self._handle = loop.call_later(0.05, self._interrupt, loop)


def timeout_error() -> QueryTimeout:
    """The error of a query whose time is over."""
    return QueryTimeout("The query timed out; use a shorter time range or request less data")
