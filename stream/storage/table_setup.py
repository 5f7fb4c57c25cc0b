"""A table as its writers need it: created by whoever comes first, and with all its columns."""

import time
from collections.abc import Callable

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from schemas.lake.delta_table import DamagedLog, guard, refuse_damaged
from schemas.lake.table_location import folder_of
from schemas.runtime.settings import Settings
from schemas.tables import Table
from stream.runtime.errors import KeepsFailing
from stream.storage.retry import TRIES, wait
from stream.storage.table_schema import PARTITION, delta_schema


def open_or_create(url: str, table: Table, settings: Settings) -> DeltaTable:
    """The table; made when it is not there, also by two workers at once; with all its columns."""
    try:
        handle = opened(url)
    except TableNotFoundError:
        handle = _retried(table, lambda: _create(url, table, settings))
    return _retried(table, lambda: _grown(handle, table))


def opened(url: str) -> DeltaTable:
    """The table, unless a log entry is missing or torn, or it needs what we cannot read."""
    refuse_damaged(url)
    try:
        handle = DeltaTable(url)
    except TableNotFoundError:
        raise
    except DeltaError as unreadable:
        if folder_of(url) is None:
            raise  # the object store may be away for a moment
        handle = _opened_again(url, unreadable)
    guard(handle)
    return handle


def _opened_again(url: str, unreadable: DeltaError) -> DeltaTable:
    """Entries may have been cleaned up under the first look; what fails twice is damaged."""
    time.sleep(0.1)
    try:
        return DeltaTable(url)
    except DeltaError:
        raise DamagedLog(f"{url}: {str(unreadable).splitlines()[0]}") from None


def _create(url: str, table: Table, settings: Settings) -> DeltaTable:
    DeltaTable.create(
        url,
        delta_schema(table),
        mode="ignore",
        partition_by=[PARTITION],
        name=table.name,
        configuration={
            "delta.enableDeletionVectors": "false",
            "delta.checkpointInterval": "100",
            "delta.deletedFileRetentionDuration": f"interval {settings.tombstone_minutes} minutes",
            "delta.logRetentionDuration": f"interval {settings.log_minutes} minutes",
        },
    )
    return opened(url)


def _grown(handle: DeltaTable, table: Table) -> DeltaTable:
    """The table with the columns that are younger than it is; nothing else ever changes."""
    handle.update_incremental()
    held = {field.name for field in handle.schema().fields}
    missing = [field for field in delta_schema(table).fields if field.name not in held]
    if missing:
        handle.alter.add_columns(missing)
    return handle


def _retried(table: Table, action: Callable[[], DeltaTable]) -> DeltaTable:
    for attempt in range(TRIES):
        try:
            return action()
        except DeltaError as refused:  # another worker created it in between
            wait(table, attempt, refused)
    raise KeepsFailing(f"{table.name}: could not be brought into its form")
