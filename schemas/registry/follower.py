"""RegistryFollower: keeps the newest snapshot in memory, or a backup while the database is lost.

While the database is unavailable, the last snapshot is used, and a process that starts then uses
the newest backup: losing traffic would be worse than missing the last change.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from schemas.registry.backups import Backup, Backups, write_backup
from schemas.registry.database_file import RegistryLost
from schemas.registry.last_use import KeyUses
from schemas.registry.migrate import SchemaMismatch
from schemas.registry.on_demand_read import OnDemandRead
from schemas.registry.snapshot import Snapshot
from schemas.registry.store import RegistryStore
from schemas.runtime.clock import format_instant, now_ms
from schemas.telemetry.instruments import gauge

log = logging.getLogger(__name__)

T = TypeVar("T")

COPY_SECONDS = 30.0
ANSWER_SECONDS = 5.0
"""How long a poll may take before the registry counts as unavailable."""


class RegistryFollower:
    """Polls the registry every `seconds`.

    It reads in threads of its own, one for polls and one for reads on demand: a database that does
    not answer holds no thread that other work of the process needs.
    """

    def __init__(
        self, store: RegistryStore, backups: Backups | None = None, seconds: float = 0.5
    ) -> None:
        self._store = store
        self._seconds = seconds
        self._refreshing = threading.Lock()
        self._threads = ThreadPoolExecutor(2, "registry")
        self._key_uses = KeyUses()
        self._error_kind: str | None = None
        self._read_at = time.monotonic()
        self._backups = backups
        self._copied_at = float("-inf")
        self._copy_problem = ""
        self._start_fields: Mapping[str, str] = {}
        self._on_demand = OnDemandRead(self._read_on_demand)
        self.error: str | None = None
        """Why the registry is unavailable, and since when; the snapshot stays in use."""
        self.snapshot = self._with_key_uses(self._initial_snapshot(backups))

    @property
    def stale_seconds(self) -> float:
        """Seconds since the registry was read last, while it is unavailable; else 0.

        A process that started from a backup counts from the last read of the processes before it.
        """
        return time.monotonic() - self._read_at if self.error else 0.0

    def refresh(self) -> Snapshot:
        """Apply the changes since the last poll, or read all records if the trail is incomplete."""
        with self._refreshing:  # or an older snapshot could replace a newer one
            if self._store.read_version() != self.snapshot.version:
                changes = self._store.read_changes_since(self.snapshot.version)
                updated = self.snapshot.apply(changes) if changes else None
                self.snapshot = updated or self._with_key_uses(Snapshot.read(self._store))
            return self.snapshot

    async def newer_than(self, snapshot: Snapshot, ids: Collection[str]) -> bool:
        """Whether there is a newer snapshot, after a read for ids that this one does not have.

        Without a read while the database is unavailable: polls notice when it is back.
        """
        if self.snapshot is snapshot and self.error is None:
            await self._on_demand.read_for(ids, snapshot.version)
        return self.snapshot is not snapshot

    async def _read_on_demand(self) -> None:
        try:
            await self._in_thread(self.refresh)
        except Exception as error:  # the request is refused, as without the read
            self._log_error(error)

    def poll(self) -> None:
        """Refresh the snapshot, and write the last use of keys."""
        at_ms = now_ms()
        self._key_uses.write(self._store, self.refresh().keys)
        self._keep_copy(at_ms)

    def _keep_copy(self, at_ms: int) -> None:
        """Keep a copy, and how current it is, for a start without the database.

        At most once in COPY_SECONDS.
        """
        if self._backups is None or time.monotonic() - self._copied_at < COPY_SECONDS:
            return
        self._copied_at, problem = time.monotonic(), ""
        try:
            if self._backups.copy:
                write_backup(self._store, self._backups.copy, now_ms())
            self._backups.write_last_read(self.snapshot.version, at_ms)
        except OSError as error:  # a full disk, or a lake that this process only reads
            problem = str(error)
        if problem and problem != self._copy_problem:
            log.warning("registry not copied", extra={"reason": problem})
        self._copy_problem = problem

    async def run(self) -> None:
        """Poll until cancelled; logs when the registry becomes unavailable or available."""
        if self._start_fields:  # a service sets its logging up after it has read the registry
            log.error("registry unavailable", extra=self._start_fields)
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self._polled()
            except Exception as error:  # a follower that stopped would miss all changes
                self._log_error(error)
            else:
                if self.error:
                    log.warning("registry available again")
                self.error, self._error_kind, self._read_at = None, None, time.monotonic()

    async def _polled(self) -> None:
        """Poll to the end; a database that does not answer is an error meanwhile."""
        polling = asyncio.ensure_future(self._in_thread(self.poll))
        done, _ = await asyncio.wait((polling,), timeout=ANSWER_SECONDS)
        if not done:
            self._log_error(TimeoutError(f"no answer within {ANSWER_SECONDS:g} s"))
        await polling

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _with_key_uses(self, snapshot: Snapshot) -> Snapshot:
        return msgspec.structs.replace(snapshot, key_uses=self._key_uses.used_at)

    def _initial_snapshot(self, backups: Backups | None) -> Snapshot:
        try:
            self._store.require_current_schema()
            return Snapshot.read(self._store)
        except SchemaMismatch:
            raise
        except SQLAlchemyError as error:
            newest = backups.newest() if backups else None
            if backups is None or newest is None:
                raise
            self._start_from(newest, backups.read_ms(newest), error)
            return Snapshot.from_contents(newest.contents)

    def _start_from(self, backup: Backup, read_ms: int, error: Exception) -> None:
        """Count from the read that the backup is of: restarts must not prolong the limit."""
        age_seconds = max(0.0, (now_ms() - read_ms) / 1000)
        self._read_at -= age_seconds
        self._set_error(_error_kind(error), read_ms)
        self._start_fields = {
            "reason": first_line(error),
            "served": f"backup {backup.path.name}",
            "last_read": str(format_instant(read_ms)),
            "age_seconds": f"{age_seconds:.0f}",
        }

    def _log_error(self, error: Exception) -> None:
        kind = _error_kind(error)
        if kind == self._error_kind:
            return
        self._set_error(kind, now_ms() - round((time.monotonic() - self._read_at) * 1000))
        fields = {"reason": first_line(error), "served": "the last snapshot"}
        log.error("registry unavailable", extra=fields)

    def _set_error(self, kind: str, read_ms: int) -> None:
        self._error_kind, self.error = kind, f"{kind} since {format_instant(read_ms)}"


def _error_kind(error: Exception) -> str:
    return "lost" if isinstance(error, RegistryLost) else "not read"


def add_registry_gauge(follower: RegistryFollower) -> None:
    """Add the age of the snapshot to the metrics of this process."""
    gauge(
        "tidemark_registry_stale_seconds",
        "For how long the registry has been unavailable; 0 while it is not",
        lambda: follower.stale_seconds,
    )


def registry_unavailable(error: BaseException) -> str:
    """Why a process cannot start without a registry, and the remedy."""
    if isinstance(error, SchemaMismatch):
        return str(error)
    return (
        f"the registry cannot be opened, and there is no backup of it: {first_line(error)}. "
        "run `tidemark doctor` for details; `tidemark up` creates a registry"
    )


def first_line(error: BaseException) -> str:
    """First line of a driver's message, without advice and statement."""
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
