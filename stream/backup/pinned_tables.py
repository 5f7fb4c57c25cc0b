"""Pinned tables: one version of each table, with its log and its data files.

Pinned in the order main tables, ledger, quarantine. A worker commits quarantine, ledger and main
table, so a ledger that is pinned later has all entries of the main table's rows, and a quarantine
that is pinned later all entries that the ledger counts. What the side tables have more is as after
a crash between the commits: a worker that reads those messages again adds only what is missing.

Derived tables are left out: they are computed again, and queries do without them meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from deltalake.exceptions import DeltaError
from msgspec import DecodeError, Struct

from schemas.kinds import AGING_TABLES
from schemas.lake.committed_offsets import LogSource, log_source
from schemas.lake.delta_log import checkpoint_name, entry_name
from schemas.lake.delta_table import UnreadableTable, open_table, read_version
from schemas.lake.log_numbers import log_numbers, newest_checkpoint
from schemas.lake.table_location import table_url
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, QUARANTINE, Table

PINNED_TABLES: tuple[Table, ...] = (*AGING_TABLES, LEDGER, QUARANTINE)
OPEN_ATTEMPTS = 3
"""The log may be cleaned up between two reads of it."""


class PinnedFile(Struct, frozen=True):
    """A data file of a pinned version."""

    path: str
    """Relative to the root of the table."""
    size: int
    day: str


class PinnedTable(Struct, frozen=True):
    """One version of a table."""

    name: str
    version: int
    rows: int
    received_until_ms: int | None
    """When the newest row was received."""
    numbers: Mapping[str, int]
    log: Mapping[str, bytes]
    """A checkpoint and the entries up to the version, by file name."""
    data_files: Sequence[PinnedFile]


def pin_tables(settings: Settings) -> list[PinnedTable]:
    """The newest version of each table that exists.

    UnreadableTable when a log is damaged, OSError when the lake cannot be read.
    """
    pinned = (_pin(settings.lake_url, table) for table in PINNED_TABLES)
    return [table for table in pinned if table is not None]


def _pin(lake: str, table: Table) -> PinnedTable | None:
    for _ in range(OPEN_ATTEMPTS):
        try:
            handle = open_table(lake, table)
        except DeltaError as error:
            raise UnreadableTable(f"{table_url(lake, table)}: {error}") from None
        if handle is None:
            return None
        log, version = log_source(lake, table), read_version(handle, table)
        root = handle.table_uri.rstrip("/").removeprefix("file://")
        try:
            return PinnedTable(
                table.name,
                version.number,
                version.rows,
                version.newest_received_ms,
                log_numbers(log, version.number),
                dict(_log_files(log, version.number)),
                [
                    PinnedFile(file.path.removeprefix(f"{root}/"), file.size, file.day)
                    for file in version.data_files
                ],
            )
        except (FileNotFoundError, DecodeError):
            continue
    raise UnreadableTable(f"{table_url(lake, table)}: log entries are missing")


def _log_files(log: LogSource, version: int) -> Iterator[tuple[str, bytes]]:
    checkpoint = newest_checkpoint(log, version)
    if checkpoint >= 0:
        yield checkpoint_name(checkpoint), log.read(checkpoint_name(checkpoint))
        with suppress(FileNotFoundError):  # followers of the log count entries, not checkpoints
            yield entry_name(checkpoint), log.read(entry_name(checkpoint))
    for number in range(checkpoint + 1, version + 1):
        yield entry_name(number), log.read(entry_name(number))
