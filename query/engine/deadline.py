"""Deadline: the time after which a question is interrupted."""

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
        self._ended: Callable[[], bool] = bool  # not, as far as it is known
        self.passed = False

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start watching."""
        self._handle = loop.call_at(self._at, self._interrupt, loop)

    def stop(self) -> None:
        """The question is answered, or refused."""
        if self._handle is not None:
            self._handle.cancel()

    def interrupt_until(self, loop: asyncio.AbstractEventLoop, ended: Callable[[], bool]) -> None:
        """Interrupt now, and again until it has ended: nobody waits for the answer any more."""
        self.stop()
        self._ended = ended
        self._interrupt(loop)

    def _interrupt(self, loop: asyncio.AbstractEventLoop) -> None:
        self.passed = True
        if self._ended():
            return
        # Its thread may have closed it a moment ago: then the question has ended by itself.
        with suppress(duckdb.ConnectionException):
            self._cursor.interrupt()
        self._handle = loop.call_later(0.05, self._interrupt, loop)


def timeout_error() -> QueryTimeout:
    """What a question meets whose time is over."""
    return QueryTimeout(
        "The question took longer than its deadline; ask for a shorter span or for less"
    )
