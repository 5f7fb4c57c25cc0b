"""Opens a Delta table for writing: creates it, adds new columns, retries conflicts with jitter."""

import logging
import random
import time
from collections.abc import Callable

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from schemas.lake.delta_table import DamagedLog, check_log, check_protocol
from schemas.lake.object_store import one_line_errors, storage_options
from schemas.lake.retention import table_retention
from schemas.lake.table_location import local_folder
from schemas.runtime.settings import Settings
from schemas.tables import Table
from stream.runtime.errors import RetriesExhausted
from stream.storage.table_schema import DAY_COLUMN, delta_schema

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 10


def wait_for_retry(table: Table, attempt: int, error: Exception) -> None:
    """Log a failed attempt and wait, longer after each one."""
    log.warning(
        "commit retried",
        extra={"table": table.name, "attempt": attempt + 1, "reason": str(error)},
    )
    time.sleep(random.uniform(0.02, 0.08) * (attempt + 1))  # noqa: S311 - jitter, no secret


def open_or_create(url: str, table: Table, settings: Settings) -> DeltaTable:
    """Open the table with all its columns; create it if missing, also by two workers at once."""
    try:
        handle = open_table_checked(url)
    except TableNotFoundError:
        handle = _with_retry(table, lambda: _create(url, table, settings))
    return _with_retry(table, lambda: _add_missing_columns(handle, table))


def open_table_checked(url: str) -> DeltaTable:
    """Open the table; DamagedLog when an entry is missing or torn or a feature is unknown."""
    check_log(url)
    try:
        with one_line_errors(url):
            handle = DeltaTable(url, storage_options=storage_options(url))
    except TableNotFoundError:
        raise
    except DeltaError as error:
        if local_folder(url) is None:
            raise  # the object store may be unreachable for a moment
        handle = _reopen(url, error)
    check_protocol(handle)
    return handle


def _reopen(url: str, error: DeltaError) -> DeltaTable:
    """Open once more: entries may have been cleaned up in between; a second failure is damage."""
    time.sleep(0.1)
    try:
        return DeltaTable(url)
    except DeltaError:
        raise DamagedLog(f"{url}: {str(error).splitlines()[0]}") from None


def _create(url: str, table: Table, settings: Settings) -> DeltaTable:
    DeltaTable.create(
        url,
        delta_schema(table),
        mode="ignore",
        partition_by=[DAY_COLUMN],
        name=table.name,
        configuration={
            "delta.enableDeletionVectors": "false",
            "delta.checkpointInterval": "100",
            **table_retention(settings).properties,
        },
        storage_options=storage_options(url),
    )
    return open_table_checked(url)


def _add_missing_columns(handle: DeltaTable, table: Table) -> DeltaTable:
    """Add the columns that are newer than the table; nothing else of a schema ever changes."""
    handle.update_incremental()
    present = {field.name for field in handle.schema().fields}
    missing = [field for field in delta_schema(table).fields if field.name not in present]
    if missing:
        handle.alter.add_columns(missing)
    return handle


def _with_retry(table: Table, action: Callable[[], DeltaTable]) -> DeltaTable:
    for attempt in range(MAX_ATTEMPTS):
        try:
            return action()
        except DeltaError as error:  # another worker created it in between
            wait_for_retry(table, attempt, error)
    raise RetriesExhausted(f"{table.name}: schema could not be updated")
