"""The newest version of one table, read again when it is older than asked for.

One handle is kept open and updated; one whose log entries were cleaned up is opened again. An
object store may take its time, or not answer at all: waiting requests get an error in time, and the
read goes on for the next ones.
"""

import asyncio
import logging
import time
from concurrent.futures import Executor
from contextvars import copy_context

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from schemas.errors import DataDamaged, Unavailable
from schemas.lake.committed_offsets import NO_VERSION
from schemas.lake.delta_table import (
    DamagedLog,
    TableVersion,
    UnreadableTable,
    check_protocol,
    open_table,
    read_version,
)
from schemas.runtime.clock import Clock
from schemas.tables import Table

log = logging.getLogger(__name__)

CheckedVersion = tuple[TableVersion, int]
"""A version, and Unix milliseconds: every commit made before this instant is in it."""


class NewestVersion:
    """The newest version of a table; safe for concurrent requests."""

    def __init__(self, lake: str, table: Table, clock: Clock, threads: Executor) -> None:
        self._lake = lake
        self._table = table
        self._clock = clock
        self._threads = threads
        self._lock = asyncio.Lock()
        self._handle: DeltaTable | None = None
        self._version: TableVersion | None = None
        """Version of the open handle."""
        self._checked: CheckedVersion | None = None
        self._checked_at = 0.0

    async def get(
        self, max_age: float, min_version: int, reopen: bool, wait_seconds: float | None
    ) -> CheckedVersion:
        """The newest version as of `max_age` seconds ago or later, never one before `min_version`.

        `reopen` opens the table again. Unavailable when it cannot be read, or not in
        `wait_seconds`; DataDamaged when its log is damaged.
        """
        try:
            async with asyncio.timeout(wait_seconds):
                await self._lock.acquire()
                known = self._checked
                is_old = time.monotonic() - self._checked_at > max_age
                if known and not (reopen or is_old or known[0].number < min_version):
                    self._lock.release()
                    return known
                if reopen:
                    self._handle = None
                reading = asyncio.ensure_future(self._read_and_release())
                reading.add_done_callback(_take_error)
                return await asyncio.shield(reading)
        except TimeoutError:  # only with a limit
            no_answer = TimeoutError(f"no answer within {wait_seconds:g} s")
            raise unreadable(self._table, no_answer) from None

    async def _read_and_release(self) -> CheckedVersion:
        try:
            began, checked_ms = time.monotonic(), self._clock()
            version = await asyncio.get_running_loop().run_in_executor(
                self._threads, copy_context().run, self._read
            )
            self._checked, self._checked_at = (version, checked_ms), began
            return self._checked
        finally:
            self._lock.release()

    def _read(self) -> TableVersion:
        try:
            return self._newest()
        except (DeltaError, OSError, UnreadableTable) as error:
            raise unreadable(self._table, error) from None

    def _newest(self) -> TableVersion:
        if self._handle is not None:
            try:
                self._handle.update_incremental()
                check_protocol(self._handle)
            except (DeltaError, OSError):
                self._handle = None  # the log entries after this handle were cleaned up
            else:
                if self._version and self._handle.version() < self._version.number:
                    self._handle = None  # the newest entry is gone: opening the table reports it
        if self._handle is None:
            self._handle = open_table(self._lake, self._table)
            self._version = None
        if self._handle is None:
            return TableVersion(self._table, NO_VERSION, ())
        if self._version is None or self._version.number != self._handle.version():
            self._version = read_version(self._handle, self._table)
        return self._version


def _take_error(reading: "asyncio.Future[CheckedVersion]") -> None:
    """Retrieve the error of a read without waiting requests: the log has it."""
    if not reading.cancelled():
        reading.exception()


def unreadable(table: Table, error: Exception) -> Unavailable:
    """The error for a table that cannot be read; the log line has the reason."""
    log.error("table unreadable", extra={"table": table.name, "error": str(error)})
    if isinstance(error, DamagedLog):
        return DataDamaged(f"The log of table '{table.name}' is damaged", damaged=[])
    return Unavailable(f"The table '{table.name}' cannot be read right now; retry")
