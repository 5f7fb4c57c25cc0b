"""Follower: holds the newest snapshot of the registry, whatever happens to the database.

While the database is away or lost, the last snapshot is served, and a process that starts then
begins with the newest backup: losing traffic would be worse than not seeing the last change.
"""

import asyncio
import logging
import threading
import time

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from schemas.registry.backups import Backups
from schemas.registry.database_file import RegistryLost
from schemas.registry.last_use import LastUse
from schemas.registry.snapshot import Snapshot
from schemas.registry.store import Store
from schemas.runtime.clock import iso, now_ms

log = logging.getLogger(__name__)


class Follower:
    """`run` looks at the registry every `seconds`."""

    def __init__(self, store: Store, backups: Backups | None = None, seconds: float = 0.5) -> None:
        self._store = store
        self._seconds = seconds
        self._refreshing = threading.Lock()
        self._uses = LastUse()
        self._kind: str | None = None
        self._read = time.monotonic()
        self.trouble: str | None = None
        """Why the registry is not followed, and since when; the snapshot stays."""
        self.snapshot = self._noting(self._first(backups))

    @property
    def stale_seconds(self) -> float:
        """For how long the registry could not be read; 0 while it can."""
        return time.monotonic() - self._read if self.trouble else 0.0

    def refresh(self) -> Snapshot:
        """Read what was written since, or everything where that does not tell enough."""
        with self._refreshing:  # or an older snapshot might come after a newer one
            if self._store.stamp() != self.snapshot.stamp:
                since = self._store.since(self.snapshot.stamp)
                later = self.snapshot.after(since) if since else None
                self.snapshot = later or self._noting(Snapshot.read(self._store))
            return self.snapshot

    def look(self) -> None:
        """Follow, and write down which keys were used."""
        self._uses.write(self._store, self.refresh().keys)

    async def run(self) -> None:
        """Follow until cancelled; each change between well and not is one line in the log."""
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await asyncio.to_thread(self.look)
            except Exception as error:  # whatever is wrong there: who stops looking never sees more
                self._note(error)
            else:
                if self.trouble:
                    log.warning("registry is read again")
                self.trouble, self._kind, self._read = None, None, time.monotonic()

    def _noting(self, snapshot: Snapshot) -> Snapshot:
        return msgspec.structs.replace(snapshot, uses=self._uses.noted)

    def _first(self, backups: Backups | None) -> Snapshot:
        try:
            return Snapshot.read(self._store)
        except SQLAlchemyError as error:
            newest = backups.newest() if backups else None
            if newest is None:
                raise
            self._note(error, newest.path.name)
            return Snapshot.of(newest.contents)

    def _note(self, error: Exception, backup: str = "") -> None:
        kind = "lost" if isinstance(error, RegistryLost) else "not read"
        if kind == self._kind:
            return
        self._kind = kind
        self.trouble = f"{kind} since {iso(now_ms())}"
        served = f"backup {backup}" if backup else "the last snapshot"
        told = {"reason": first_line(error), "served": served}
        log.error("registry is not followed", extra=told)


def no_registry(error: BaseException) -> str:
    """Why a process has nothing to begin with, and what an operator can do."""
    return (
        f"the registry cannot be opened, and there is no backup of it: {first_line(error)}. "
        "`tidemark doctor` says more; `tidemark up` makes a first one"
    )


def first_line(error: BaseException) -> str:
    """What a database driver says, without its advice and without the statement."""
    said = str(error).splitlines()
    return said[0] if said else type(error).__name__
