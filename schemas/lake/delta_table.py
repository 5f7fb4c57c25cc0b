"""How one version of a table is opened, and which parts it is made of.

Every open passes the guard: a table that needs more than reader protocol 1 (deletion vectors,
column mapping) is refused, because a plain list of its files would show rows that were deleted.
"""

from datetime import UTC, datetime
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from msgspec import Struct

from schemas.lake.delta_log import LOG, broken_entries, named
from schemas.lake.table_location import folder_of, locate
from schemas.tables import Table

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class UnreadableTable(Exception):
    """The table needs features that would make a plain file list wrong."""


class DamagedLog(UnreadableTable):
    """Entries of its log are missing or torn: opened nevertheless, rows would be missing."""


class Part(Struct, frozen=True):
    """One immutable Parquet file of a version."""

    path: str
    """URL or absolute path."""
    day: str
    rows: int
    size: int
    ts: tuple[int, int] | None
    """Smallest and largest `ts`, Unix milliseconds; None when unknown."""
    subject: tuple[str, str] | None
    """Smallest and largest subject id; None when unknown."""
    received: int | None
    """Largest `received_at`, Unix milliseconds, where the table has it."""

    def may_hold(self, subject: str | None, start_ms: int, end_ms: int) -> bool:
        """Whether rows of the subject with start <= ts < end can lie in it."""
        if self.ts and not (self.ts[0] < end_ms and start_ms <= self.ts[1]):
            return False
        return subject is None or not self.subject or self.subject[0] <= subject <= self.subject[1]


class Version(Struct, frozen=True):
    """One state of a table: what a query pins."""

    table: Table
    number: int
    parts: tuple[Part, ...]

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def received(self) -> int | None:
        """When the newest row was received, Unix milliseconds."""
        return max((p.received for p in self.parts if p.received is not None), default=None)


def open_table(
    lake: str, table: Table, storage: dict[str, str] | None = None, version: int | None = None
) -> DeltaTable | None:
    """The table, guarded; None when nothing was ever stored in it."""
    url = locate(lake, table)
    refuse_damaged(url)
    try:
        handle = DeltaTable(url, storage_options=storage, version=version)
    except TableNotFoundError:
        return None
    guard(handle)
    return handle


def refuse_damaged(url: str) -> None:
    """DamagedLog when entries of a table on a local disk cannot be believed."""
    folder = folder_of(url)
    if folder is None or not (broken := broken_entries(folder / LOG)):
        return
    raise DamagedLog(f"{folder / LOG}: {named(broken)}")


def recorded(lake: str, table: Table, name: str) -> int:
    """What the table keeps under an application's id; 0 when it keeps nothing, or cannot say."""
    try:
        handle = open_table(lake, table)
        return (handle.transaction_version(name) or 0) if handle else 0
    except (DeltaError, OSError, UnreadableTable):
        return 0


def guard(handle: DeltaTable) -> None:
    """Refuse what a plain file list would read wrongly."""
    protocol = handle.protocol()
    if protocol.min_reader_version > 1 or protocol.reader_features:
        raise UnreadableTable(
            f"{handle.table_uri}: needs reader protocol {protocol.min_reader_version} "
            f"{protocol.reader_features or ''}; Tidemark reads protocol 1 only, because "
            "deletion vectors or renamed columns would give wrong answers"
        )


def version_of(handle: DeltaTable, table: Table) -> Version:
    """The state that a handle is at, with every part's borders."""
    root = handle.table_uri.rstrip("/")
    actions = handle.get_add_actions(flatten=True)
    names: list[str] = actions.schema.names
    columns: dict[str, list[Any]] = {name: list(actions.column(name).to_pylist()) for name in names}
    count = actions.num_rows
    return Version(
        table,
        handle.version(),
        tuple(
            _part(root, table, {name: values[i] for name, values in columns.items()})
            for i in range(count)
        ),
    )


def _part(root: str, table: Table, action: dict[str, Any]) -> Part:
    return Part(
        path=f"{root.removeprefix('file://')}/{action['path']}",
        day=str(action.get("partition.day", "")),
        rows=action["num_records"] or 0,
        size=action["size_bytes"],
        ts=_pair(_ms(action.get("min.ts")), _ms(action.get("max.ts"))),
        subject=_pair(action.get(f"min.{table.subject}"), action.get(f"max.{table.subject}")),
        received=_ms(action.get("max.received_at")),
    )


def _pair(low: Any, high: Any) -> Any:
    return None if low is None or high is None else (low, high)


def _ms(instant: datetime | None) -> int | None:
    if instant is None:
        return None
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return round((aware - EPOCH).total_seconds() * 1000)
