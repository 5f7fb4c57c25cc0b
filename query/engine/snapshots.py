"""Snapshot cache: the newest version of each table, at most 200 ms old; pins versions.

One handle per table is kept open and updated; a handle whose log entries were cleaned up is
reopened. A query pins the versions that it got and never sees anything else.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import TypeVar

from deltalake.exceptions import DeltaError
from msgspec import Struct, structs

from query.engine.engine import DataFileMissing
from query.engine.newest_version import NewestVersion, unreadable
from query.engine.requested_versions import AsOf, requested_version
from query.engine.vacuumed_files import lacks_files
from schemas.errors import ApiError, DataDamaged, Malformed, Unavailable, VersionGone
from schemas.kinds import DERIVED_TABLES
from schemas.lake.committed_offsets import NO_VERSION, SNAPSHOT_MAX_AGE_SECONDS
from schemas.lake.delta_table import (
    DataFile,
    TableVersion,
    UnreadableTable,
    open_table,
    read_version,
)
from schemas.lake.retention import ON_DISK
from schemas.runtime.clock import Clock
from schemas.tables import EVENTS, IMPORTED_TOTALS, DerivedTable, Table
from schemas.tables.derived_table import derived_key
from schemas.telemetry.spans import child_span

UNREADABLE = "The stored data cannot be read right now; retry"
"""Message for a query when vacuum deleted its data files twice."""

T = TypeVar("T")

MAX_THREADS = 16
"""Threads of their own, one a table: those that wait for a store would take all that others use."""
DERIVED_AGE = 10
"""How much older the version of a derived table may be: a missing data file only costs time."""
MAX_OLD_VERSIONS = 16
"""Historic versions that are cached, beside the newest of each table."""


class PinnedVersion(Struct, frozen=True, dict=True):
    """One version of one table, and when the log was checked for it."""

    version: TableVersion
    checked_ms: int
    """Every commit made before this instant is in the version."""
    is_historic: bool = False
    """Whether the request named its number: later commits are not in it."""
    derived: Mapping[str, Mapping[str, DataFile]] = {}
    """Data files that are derived from those of the table: by derived table and key."""
    totals: "PinnedVersion | None" = None
    """Of events the version of imported totals, where it can be read."""

    def data_files(
        self, subjects: Sequence[str] | None, start_ms: int, end_ms: int
    ) -> Sequence[DataFile]:
        """The data files that may hold rows of the subjects with start <= ts < end.

        Each choice is made once: several scopes of a query have the same subjects and time range.
        """
        wanted = (None,) if subjects is None else tuple(subjects)
        chosen = self._chosen_files
        if (key := (wanted, start_ms, end_ms)) not in chosen:
            chosen[key] = [
                file
                for file in self.version.data_files
                if any(file.may_contain(subject, start_ms, end_ms) for subject in wanted)
            ]
        return chosen[key]

    @cached_property
    def _chosen_files(self) -> dict[tuple[tuple[str | None, ...], int, int], Sequence[DataFile]]:
        """Data files by subjects, start and end."""
        return {}


class PinnedVersions(Struct, frozen=True):
    """One version of each table that a query reads, by table name."""

    versions: Mapping[str, PinnedVersion]
    damaged: Mapping[str, DataDamaged] = {}
    """Tables whose log is damaged, with the error that a query of such a table gets."""

    def of(self, table: Table) -> PinnedVersion:
        """The version of a table; raises DataDamaged when its log is damaged."""
        if table.name in self.damaged:
            raise self.damaged[table.name]
        return self.versions[table.name]

    def of_all(self, tables: Iterable[Table]) -> Mapping[str, PinnedVersion]:
        """The version of each table; raises DataDamaged when the log of one is damaged."""
        return {table.name: self.of(table) for table in tables}


class SnapshotCache:
    """Hands out pinned versions; safe for concurrent requests."""

    def __init__(
        self,
        lake: str,
        clock: Clock,
        fresh_seconds: float = SNAPSHOT_MAX_AGE_SECONDS,
        kept_minutes: int = ON_DISK.file_minutes,
        wait_seconds: float | None = None,
    ) -> None:
        """`wait_seconds`: how long to wait for the newest version of a table; None: to the end."""
        self._lake = lake
        self._clock = clock
        self._fresh = fresh_seconds
        self._kept = kept_minutes
        self._wait = wait_seconds
        self._threads = ThreadPoolExecutor(MAX_THREADS, "snapshot")
        self._newest: dict[str, NewestVersion] = {}
        self._by_key: dict[str, tuple[TableVersion, Mapping[str, DataFile]]] = {}
        """Of each derived table a version, and its data files by key."""
        self._old: dict[tuple[str, int], TableVersion] = {}

    async def pin(
        self,
        table: Table,
        reopen: bool = False,
        min_version: int = NO_VERSION,
        max_age: float | None = None,
    ) -> PinnedVersion:
        """The newest version; `reopen` discards the cached handle and opens the table again.

        Never a version before `min_version`, which must exist. `max_age` in seconds is for callers
        that do not need the newest. Unavailable when the store does not answer in time.
        """
        if (newest := self._newest.get(table.name)) is None:
            newest = NewestVersion(self._lake, table, self._clock, self._threads)
            self._newest[table.name] = newest
        fresh = self._fresh if max_age is None else max_age
        return PinnedVersion(*await newest.get(fresh, min_version, reopen, self._wait))

    async def pin_at(self, table: Table, as_of: AsOf, reopen: bool = False) -> PinnedVersion:
        """The requested version; the newest when the request names none.

        Malformed when the version does not exist yet, VersionGone when it has expired.
        """
        pinned = await self._pin_requested(table, as_of, reopen)
        derived = {
            each.table.name: await self._derived_files(each, reopen)
            for each in DERIVED_TABLES
            if each.source is table
        }
        totals = await self._totals(reopen) if table is EVENTS else None
        return structs.replace(pinned, derived=derived, totals=totals) if derived else pinned

    async def _totals(self, reopen: bool) -> PinnedVersion | None:
        """A recent version of imported totals; None when it cannot be read."""
        try:
            return await self.pin(IMPORTED_TOTALS, reopen, max_age=self._fresh * DERIVED_AGE)
        except Unavailable:
            return None

    async def _derived_files(self, derived: DerivedTable, reopen: bool) -> Mapping[str, DataFile]:
        """The data files of a derived table by key; none when it cannot be read."""
        try:
            pinned = await self.pin(derived.table, reopen, max_age=self._fresh * DERIVED_AGE)
        except Unavailable:
            return {}
        known = self._by_key.get(derived.table.name)
        if known is None or known[0] is not pinned.version:
            definition = derived.definition
            keyed = ((derived_key(f.path, definition), f) for f in pinned.version.data_files)
            by_key = {key: data_file for key, data_file in keyed if key is not None}
            self._by_key[derived.table.name] = known = (pinned.version, by_key)
        return known[1]

    async def _pin_requested(self, table: Table, as_of: AsOf, reopen: bool) -> PinnedVersion:
        newest = await self.pin(table, reopen)
        number = requested_version(as_of, table)
        if number is None or number == newest.version.number:
            return newest
        if number > newest.version.number:
            raise Malformed(
                f"'asOf' is {number} for table '{table.name}', whose newest version is "
                f"{newest.version.number}"
            )
        if number == NO_VERSION:
            return PinnedVersion(TableVersion(table, NO_VERSION, ()), 0, is_historic=True)
        version = self._old.get((table.name, number))
        if version is None:
            version = await asyncio.to_thread(self._older, table, number)
            while len(self._old) >= MAX_OLD_VERSIONS:
                self._old.pop(next(iter(self._old)))
            self._old[table.name, number] = version
        await asyncio.to_thread(self._require_files, version, newest.version)
        return PinnedVersion(version, 0, is_historic=True)

    async def with_pinned(
        self,
        tables: Sequence[Table],
        as_of: AsOf,
        run: Callable[[PinnedVersions], Awaitable[T]],
    ) -> T:
        """Run on one version per table; once more when vacuum deleted a data file meanwhile."""
        for reopen in (False, True):
            pinned = await self.pin_all(tables, as_of, reopen)
            with suppress(DataFileMissing):
                return await run(pinned)
        raise await self.missing_files(tables, as_of)

    async def pin_all(
        self, tables: Sequence[Table], as_of: AsOf, reopen: bool = False
    ) -> PinnedVersions:
        """The version of each table; a damaged log fails only the queries of its table."""
        versions: dict[str, PinnedVersion] = {}
        damaged: dict[str, DataDamaged] = {}
        with child_span("snapshot", {"tidemark.tables": " ".join(t.name for t in tables)}):
            for table in tables:
                try:
                    versions[table.name] = await self.pin_at(table, as_of, reopen)
                except DataDamaged as error:
                    damaged[table.name] = error
        return PinnedVersions(versions, damaged)

    async def missing_files(self, tables: Sequence[Table], as_of: AsOf) -> ApiError:
        """The error for data files that are missing twice.

        VersionGone if the request named the version, else Unavailable.
        """
        try:
            await self.raise_if_vacuumed(as_of, tables)
        except VersionGone as error:
            return error
        return Unavailable(UNREADABLE)

    async def raise_if_vacuumed(self, as_of: AsOf, tables: Iterable[Table]) -> None:
        """VersionGone when data files of the requested versions have been deleted."""
        for table in tables:
            number = requested_version(as_of, table)
            newest = (await self.pin(table)).version.number
            if number is not None and number != newest:
                raise await asyncio.to_thread(self._version_gone, table, number)

    def _older(self, table: Table, number: int) -> TableVersion:
        try:
            handle = open_table(self._lake, table, version=number)
        except DeltaError:
            handle = None
        except (OSError, UnreadableTable) as error:
            raise unreadable(table, error) from None
        if handle is None:
            raise self._version_gone(table, number)
        return read_version(handle, table)

    def _require_files(self, version: TableVersion, newest: TableVersion) -> None:
        """VersionGone when vacuum has deleted data files of the version."""
        try:
            if not lacks_files(self._lake, version, newest):
                return
        except OSError as error:
            raise unreadable(version.table, error) from None
        raise self._version_gone(version.table, version.number)

    def _version_gone(self, table: Table, number: int) -> VersionGone:
        """The error for an expired version; it names the oldest that is still available."""
        handle = open_table(self._lake, table)
        commits = [(c["timestamp"], c["version"]) for c in handle.history()] if handle else []
        since = self._clock() - self._kept * 60_000
        readable = [version for at, version in commits if at <= since]
        oldest = max(readable, default=min((version for _, version in commits), default=0))
        return VersionGone(
            f"Version {number} of table '{table.name}' has expired; "
            f"the oldest that is still available is {max(oldest, number + 1)}"
        )
