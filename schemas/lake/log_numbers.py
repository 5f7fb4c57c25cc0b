"""All numbers of a table at once, from one pass over its log.

deltalake reads the log again for each number that it is asked for: in an object store these are as
many requests for each number as the log has entries.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from deltalake import DeltaTable
from msgspec import DecodeError

from schemas.lake.committed_offsets import (
    LogSource,
    entry_numbers,
    last_checkpoint_version,
    log_source,
    names_from,
)
from schemas.lake.delta_log import checkpoint_name, entry_name
from schemas.lake.delta_table import UnreadableTable, open_table
from schemas.lake.table_location import table_url
from schemas.tables import Table

OPEN_ATTEMPTS = 3
"""The log may be cleaned up between two reads of it."""
CONCURRENT_READS = 16
"""Log entries that are read at once: each is one request to an object store."""


def open_with_numbers(lake: str, table: Table) -> tuple[DeltaTable, dict[str, int]] | None:
    """The newest version of a table and its numbers; None when there is no table.

    UnreadableTable when its log is damaged, OSError when the store cannot be read.
    """
    for _ in range(OPEN_ATTEMPTS):
        handle = open_table(lake, table)
        if handle is None:
            return None
        try:
            return handle, log_numbers(log_source(lake, table), handle.version())
        except (FileNotFoundError, DecodeError):
            continue
    raise UnreadableTable(f"{table_url(lake, table)}: log entries are missing")


def log_numbers(log: LogSource, version: int) -> dict[str, int]:
    """The table's numbers at this version, by application id.

    FileNotFoundError when the log does not have all entries up to the version any more: it was
    cleaned up after a later checkpoint.
    """
    checkpoint = newest_checkpoint(log, version)
    numbers = _checkpoint_numbers(log.read(checkpoint_name(checkpoint))) if checkpoint >= 0 else {}
    return numbers | numbers_after(log, checkpoint, version)


def numbers_after(log: LogSource, after: int, version: int) -> dict[str, int]:
    """The numbers that the entries after a version set, up to another one; as above if gone."""
    numbers: dict[str, int] = {}
    for entry in _read(log, [entry_name(number) for number in range(after + 1, version + 1)]):
        numbers |= entry_numbers(entry)
    return numbers


def _read(log: LogSource, names: Sequence[str]) -> list[bytes]:
    if len(names) < 2:
        return [log.read(name) for name in names]
    with ThreadPoolExecutor(CONCURRENT_READS) as readers:
        return list(readers.map(log.read, names))


def newest_checkpoint(log: LogSource, version: int) -> int:
    """Version of the newest checkpoint that is not later than a version; -1 without one."""
    last = last_checkpoint_version(log)
    if last is not None and (found := _checkpoint_before(names_from(log, last), version)) >= 0:
        return found
    return _checkpoint_before(log.names(), version)


def _checkpoint_before(names: Sequence[str], version: int) -> int:
    known = set(names)
    stems = (name.partition(".")[0] for name in known)
    numbers = (int(stem) for stem in stems if stem.isdecimal())
    found = (n for n in numbers if n <= version and checkpoint_name(n) in known)
    return max(found, default=-1)


def _checkpoint_numbers(content: bytes) -> dict[str, int]:
    # Large: a process that has read no checkpoint goes without it.
    from pyarrow import BufferReader
    from pyarrow.parquet import read_table

    actions = read_table(BufferReader(content), columns=["txn"])["txn"]
    transactions = (action for action in actions.to_pylist() if action is not None)
    return {action["appId"]: action["version"] for action in transactions}
