"""Delta tables: versions, their data files and statistics; unsupported features are rejected.

A table that needs more than reader protocol 1 (deletion vectors, column mapping) is rejected,
because a plain list of its files would include deleted rows.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from msgspec import Struct, structs

from schemas.lake.delta_log import LOG_FOLDER, damaged_entries, named
from schemas.lake.object_store import one_line_errors, storage_options
from schemas.lake.table_location import local_folder, table_url
from schemas.runtime.clock import UNIX_EPOCH
from schemas.tables import Table


class UnreadableTable(Exception):
    """The table needs features with which a plain file list is wrong."""


class DamagedLog(UnreadableTable):
    """Log entries are missing or torn, so rows would be missing."""


class DataFile(Struct, frozen=True):
    """One Parquet file of a table version, with its statistics."""

    path: str
    """URL or absolute path."""
    day: str
    rows: int
    size: int
    ts_range: tuple[int, int] | None
    """Smallest and largest `ts`, Unix milliseconds; None when unknown."""
    subject_range: tuple[str, str] | None
    """Smallest and largest subject id; None when unknown."""
    max_received_ms: int | None
    """Largest `received_at`, Unix milliseconds, where the table has it."""

    def may_contain(self, subject: str | None, start_ms: int, end_ms: int) -> bool:
        """Whether the file may have rows of the subject with start <= ts < end."""
        if self.ts_range and not (self.ts_range[0] < end_ms and start_ms <= self.ts_range[1]):
            return False
        return (
            subject is None
            or not self.subject_range
            or self.subject_range[0] <= subject <= self.subject_range[1]
        )


class TableVersion(Struct, frozen=True):
    """One version of a table, with its data files."""

    table: Table
    number: int
    data_files: tuple[DataFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.data_files)

    def with_files(self, data_files: Sequence[DataFile]) -> "TableVersion":
        """The version with these of its data files only."""
        return structs.replace(self, data_files=tuple(data_files))

    @property
    def newest_received_ms(self) -> int | None:
        """When the newest row was received, Unix milliseconds."""
        return max(
            (f.max_received_ms for f in self.data_files if f.max_received_ms is not None),
            default=None,
        )


def open_table(lake: str, table: Table, version: int | None = None) -> DeltaTable | None:
    """Open a table after checking its log and protocol; None when it does not exist."""
    url = table_url(lake, table)
    check_log(url)
    try:
        with one_line_errors(url):
            handle = DeltaTable(url, storage_options=storage_options(url), version=version)
    except TableNotFoundError:
        return None
    check_protocol(handle)
    return handle


def check_log(url: str) -> None:
    """Raise DamagedLog when a table on a local disk has damaged log entries."""
    folder = local_folder(url)
    if folder is None or not (broken := damaged_entries(folder / LOG_FOLDER)):
        return
    raise DamagedLog(f"{folder / LOG_FOLDER}: {named(broken)}")


def transaction_version(lake: str, table: Table, name: str) -> int:
    """Transaction version of a Delta application id; 0 when there is none or on errors."""
    try:
        handle = open_table(lake, table)
        return (handle.transaction_version(name) or 0) if handle else 0
    except (DeltaError, OSError, UnreadableTable):
        return 0


def check_protocol(handle: DeltaTable) -> None:
    """Raise UnreadableTable when a plain file list would be wrong."""
    protocol = handle.protocol()
    if protocol.min_reader_version > 1 or protocol.reader_features:
        raise UnreadableTable(
            f"{handle.table_uri}: needs reader protocol {protocol.min_reader_version} "
            f"{protocol.reader_features or ''}; Tidemark reads protocol 1 only, because "
            "deletion vectors or renamed columns would give wrong answers"
        )


def read_version(handle: DeltaTable, table: Table) -> TableVersion:
    """The state that a handle is at, with every part's borders."""
    root = handle.table_uri.rstrip("/")
    actions = handle.get_add_actions(flatten=True)
    names: list[str] = actions.schema.names
    columns: dict[str, list[Any]] = {name: list(actions.column(name).to_pylist()) for name in names}
    count = actions.num_rows
    return TableVersion(
        table,
        handle.version(),
        tuple(
            _data_file(root, table, {name: values[i] for name, values in columns.items()})
            for i in range(count)
        ),
    )


def _data_file(root: str, table: Table, action: dict[str, Any]) -> DataFile:
    return DataFile(
        path=f"{root.removeprefix('file://')}/{action['path']}",
        day=str(action.get("partition.day", "")),
        rows=action["num_records"] or 0,
        size=action["size_bytes"],
        ts_range=_range(_unix_ms(action.get("min.ts")), _unix_ms(action.get("max.ts"))),
        subject_range=_range(
            action.get(f"min.{table.subject_column}"), action.get(f"max.{table.subject_column}")
        ),
        max_received_ms=_unix_ms(action.get("max.received_at")),
    )


def _range(low: Any, high: Any) -> Any:
    return None if low is None or high is None else (low, high)


def _unix_ms(instant: datetime | None) -> int | None:
    if instant is None:
        return None
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return round((aware - UNIX_EPOCH).total_seconds() * 1000)
