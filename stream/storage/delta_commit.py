"""Commits data files and next offsets as one version of a Delta table, by compare-and-swap.

The table's next offset of every topic partition must be the one that the batch expects. The check
and the commit use one handle, because a fresh handle would accept an older offset silently. Commits
of other partitions do not conflict; deltalake orders them one after the other.

A batch needs dozens of next offsets and other numbers of the table, and deltalake reads the log for
each. `TableNumbers` reads all at once, and from then on only the log entries that are new.
"""

import json
from collections.abc import Mapping, Sequence

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction
from msgspec import Struct

from schemas.lake.committed_offsets import NO_VERSION, LogSource, log_source
from schemas.lake.damage_reports import DamageReports
from schemas.lake.delta_log import CONTENT_KEY, commit_content
from schemas.lake.log_numbers import log_numbers, numbers_after
from schemas.lake.table_location import table_url
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import Table
from schemas.telemetry.instruments import COMMIT_SECONDS, start_at_zero, timed_commit
from stream.runtime.errors import Fenced, RetriesExhausted
from stream.storage.object_store import storage_at
from stream.storage.parquet_writer import NewDataFile
from stream.storage.table_schema import DAY_COLUMN, delta_schema
from stream.storage.table_setup import (
    MAX_ATTEMPTS,
    open_or_create,
    open_table_checked,
    wait_for_retry,
)


class TableNumbers:
    """The numbers of one handle, by application id. A handle stays at its version in a commit."""

    def __init__(self, log: LogSource) -> None:
        self._log = log
        self._version = NO_VERSION
        self._known: dict[str, int] = {}
        """All numbers at the version."""
        self._committed: dict[str, int] | None = None
        """The numbers of our commit to a later version than this."""

    def get(self, version: int, name: str) -> int:
        """The number at the version of the handle; 0 without one."""
        if version != self._version:
            self._known = self._at(version)
            self._version, self._committed = version, None
        return self._known.get(name, 0)

    def committed(self, version: int, numbers: Mapping[str, int]) -> None:
        """Note what was just committed through the handle, which is at this version."""
        self._committed = dict(numbers) if version == self._version else None

    def forget(self) -> None:
        """Forget all numbers, for a new handle."""
        self._version, self._committed = NO_VERSION, None

    def _at(self, version: int) -> dict[str, int]:
        if version == self._version + 1 and self._committed is not None:
            return self._known | self._committed
        if not NO_VERSION < self._version < version:
            return log_numbers(self._log, version)
        try:
            return self._known | numbers_after(self._log, self._version, version)
        except FileNotFoundError:  # cleaned up after a checkpoint
            return log_numbers(self._log, version)


MAX_UNSYNCED_VERSIONS = 20
"""Log entries up to the version at opening that the first commit makes durable as well."""

REWRITE_COUNTER = "rewrites"
"""The name under which a table counts its rewrites, so that one of two concurrent ones fails."""


class OffsetUpdate(Struct, frozen=True):
    """Compare-and-swap of one number of a table, such as a next offset: `expected` becomes `next`.

    The commit is fenced when the number is not `expected`.
    """

    expected: int
    next: int


Actions = list[AddAction | RemoveAction]
OffsetUpdates = Mapping[str, OffsetUpdate]
"""Numbers by application id, the key in the table's log (`app_id` and others)."""


class LakeTable:
    """One table of the lake, open for writing. Not for two threads at once."""

    def __init__(self, settings: Settings, table: Table) -> None:
        self.table = table
        self.url = table_url(settings.lake_url, table)
        self.store = storage_at(self.url)
        self.damage_reports = DamageReports(settings.data)
        self._handle = open_or_create(self.url, table, settings)
        self._numbers = TableNumbers(log_source(settings.lake_url, table))
        # A process that was killed may have left entries without fsync.
        self._synced = max(-1, self._handle.version() - MAX_UNSYNCED_VERSIONS)
        start_at_zero(COMMIT_SECONDS, [table.name], ("committed", "failed"))

    @property
    def handle(self) -> DeltaTable:
        """The deltalake handle, at the version of the last refresh."""
        return self._handle

    def refresh(self) -> None:
        """Update the handle to the newest version."""
        try:
            self._handle.update_incremental()
        except DeltaError:  # e.g. idle for so long that entries after this version were cleaned up
            self._handle = open_table_checked(self.url)
            self._numbers.forget()

    def next_offset(self, name: str) -> int:
        """The number under this application id at the version of the last refresh; 0 without one.

        Of a topic partition: the first offset that the table does not hold. Epochs, watermarks of
        imports and the count of rewrites are kept in the same way.
        """
        return self._numbers.get(self._handle.version(), name)

    def commit(self, data_files: Sequence[NewDataFile], updates: OffsetUpdates) -> None:
        """Commit one version with these data files and next offsets, durably.

        `updates` are relative to the handle's version; deltalake finds later commits by itself.
        Fenced when a next offset is not the expected one: the data files are removed. Contention is
        retried. When it returns, the version survives a power cut.
        """
        self._commit([add_action(data_file) for data_file in data_files], data_files, updates)

    def replace_same_rows(
        self, old: Sequence[str], data_files: Sequence[NewDataFile], day: str
    ) -> None:
        """Commit one version in which data files of a day are replaced, with the same rows."""
        self.replace_files(dict.fromkeys(old, day), data_files, data_change=False)

    def replace_files(
        self,
        old: Mapping[str, str],
        data_files: Sequence[NewDataFile],
        data_change: bool = True,
        rewrites: int | None = None,
        updates: OffsetUpdates | None = None,
    ) -> None:
        """Commit one version in which `old` data files (their days by path) are replaced.

        Fenced when one of them was replaced meanwhile: deltalake itself would let two writers
        remove the same file and keep the rows of both. Commits that only add do not conflict.
        `data_change` says whether the rows differ. With `rewrites`, the count of rewrites that
        the caller saw, any other rewrite since then fences this one. `updates` are of further
        numbers of the table.
        """
        self.refresh()
        rewrites = self.next_offset(REWRITE_COUNTER) if rewrites is None else rewrites
        updates = {REWRITE_COUNTER: OffsetUpdate(rewrites, rewrites + 1), **(updates or {})}
        if not set(old) <= set(self._handle.get_add_actions()["path"].to_pylist()):
            self._raise_fenced(data_files, updates)
        removes = [
            RemoveAction(path, data_change, now_ms(), None, {DAY_COLUMN: day})
            for path, day in old.items()
        ]
        adds = [add_action(data_file, data_change=data_change) for data_file in data_files]
        self._commit([*removes, *adds], data_files, updates)

    def _commit(
        self, actions: Actions, data_files: Sequence[NewDataFile], updates: OffsetUpdates
    ) -> None:
        with timed_commit(self.table.name):
            self._commit_with_retry(actions, data_files, updates)
            self._synced = self.store.sync_log(self._synced)

    def _commit_with_retry(
        self, actions: Actions, data_files: Sequence[NewDataFile], updates: OffsetUpdates
    ) -> None:
        for attempt in range(MAX_ATTEMPTS):
            if attempt:
                self.refresh()
            if not self._offsets_match(updates):
                if self._has_files(data_files):
                    break  # the previous attempt succeeded, though it reported a failure
                self._raise_fenced(data_files, updates)
            try:
                self._write(actions, updates)
                break
            except (DeltaError, OSError) as error:
                wait_for_retry(self.table, attempt, error)
        else:
            raise RetriesExhausted(
                f"{self.table.name}: commit failed after {MAX_ATTEMPTS} attempts"
            )

    def _offsets_match(self, updates: OffsetUpdates) -> bool:
        return all(self.next_offset(name) == update.expected for name, update in updates.items())

    def _has_files(self, data_files: Sequence[NewDataFile]) -> bool:
        """Whether these files are in the table, by the first of them: one commit adds them all."""
        uris = {uri.removeprefix("file://") for uri in self._handle.file_uris()}
        return bool(data_files) and any(uri.endswith(data_files[0].path) for uri in uris)

    def _raise_fenced(self, data_files: Sequence[NewDataFile], updates: OffsetUpdates) -> None:
        live = set(self._handle.get_add_actions()["path"].to_pylist())
        for data_file in data_files:
            if data_file.path not in live:  # a derived file has the same name from every keeper
                self.store.remove(data_file.path)
        actual = {name: self.next_offset(name) for name in updates}
        raise Fenced(f"{self.table.name}: next offsets {actual}, expected {updates}")

    def _write(self, actions: Actions, updates: OffsetUpdates) -> None:
        adds = [(a.path, a.size, a.stats) for a in actions if isinstance(a, AddAction)]
        removes = [a.path for a in actions if isinstance(a, RemoveAction)]
        next_offsets = {name: update.next for name, update in updates.items()}
        self._handle.create_write_transaction(
            actions,
            "append",
            delta_schema(self.table),
            partition_by=[DAY_COLUMN],
            commit_properties=CommitProperties(
                custom_metadata={CONTENT_KEY: commit_content(adds, removes, next_offsets)},
                max_commit_retries=15,
                app_transactions=[
                    Transaction(name, next_, now_ms()) for name, next_ in next_offsets.items()
                ],
            ),
            post_commithook_properties=NO_HOOKS,
        )
        self._numbers.committed(self._handle.version(), next_offsets)


NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
"""The keeper writes checkpoints and cleans up log entries."""


def add_action(data_file: NewDataFile, data_change: bool = True) -> AddAction:
    """The log action that adds a data file."""
    return AddAction(
        path=data_file.path,
        size=data_file.size,
        partition_values={DAY_COLUMN: data_file.day},
        modification_time=now_ms(),
        data_change=data_change,
        stats=json.dumps(data_file.stats),
    )
