"""Removes rows of a main table for good, and corrects the ledger by as many.

A removal takes two commits, in the order of a batch: the ledger first, then the rewrite of the main
table. Both move the number of removals of the topic, as the next offset of a topic partition that
Kafka does not have: who sums the ledger up leaves out the correction of a rewrite that was not
committed (`recovery/ledger_balance.py`). After a kill between the two, the next removal takes that
correction back in the commit of its own; what it removes may differ by then.

A data file is rewritten at most once, and not at all when no row of it stays.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from schemas.kinds import KINDS
from schemas.lake.committed_offsets import app_id
from schemas.lake.delta_table import read_version
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, Table
from stream.maintenance.merge_plan import LiveDataFile
from stream.maintenance.rewrite import ROW_GROUP, read_batches, rewrite_files
from stream.maintenance.verification import verified_files
from stream.rows.ledger import HOUR_MS
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.storage.table_reader import read_batches as read_table
from stream.storage.table_schema import arrow_schema
from stream.writing.side_tables import write_files

REMOVAL_EPOCH, REMOVAL_PARTITION = -1, 0
"""Where Kafka's epoch and partition stand in ledger rows of a removal; its number is the offset."""
PORTION_ROWS = 20_000_000
"""Rows of the data files that one removal reads: a killed one is repeated."""
RECEIVED_COLUMNS = ("received_at", "kafka_partition")

NameT = TypeVar("NameT")
CorrectionKey = tuple[str | None, int, str]
"""Subject, hour of receipt as Unix milliseconds, drop reason."""


class Removal(Struct, frozen=True):
    """Which rows of a table to remove, and why."""

    reason: str
    """The drop reason in the ledger: `erased`, `expired` or `purged`."""
    columns: Collection[str]
    """The columns that `causes` reads; those that the ledger needs are read as well."""
    causes: Callable[[pa.Table], pa.Array]
    """The name of what removes each row, such as an erasure's id; null for rows that stay."""


class RemovedRows(Struct, frozen=True):
    """What a removal did in one table."""

    rows: Counter[str]
    """Rows by the name of what removed them."""
    files: int
    """Data files that were replaced or removed."""


class _AffectedFile(Struct, frozen=True):
    data_file: LiveDataFile
    causes: Counter[str]
    corrections: Counter[CorrectionKey]

    @property
    def is_emptied(self) -> bool:
        return self.causes.total() == self.data_file.rows


def topic_of(settings: Settings, table: Table) -> str:
    """The topic of the live items of a main table."""
    return next(settings.topic(kind.topic) for kind in KINDS if kind.table.name == table.name)


def removal_key(topic: str) -> str:
    """The application id under which ledger and main table keep the number of removals."""
    return app_id(REMOVAL_EPOCH, topic, REMOVAL_PARTITION)


def removed_key(cause: str) -> str:
    """The application id under which a table keeps how many rows were removed by this cause."""
    return f"removed/{cause}"


def remove_rows(
    table: LakeTable,
    ledger: LakeTable,
    topic: str,
    data_files: Sequence[LiveDataFile],
    removal: Removal,
    on_step: Callable[[str], None] = lambda step: None,  # noqa: ARG005
) -> RemovedRows:
    """Remove the rows from these data files; Fenced when one was replaced meanwhile.

    May be repeated after any failure. `on_step` is called after each commit; tests stop there.
    """
    rows, files = Counter[str](), 0
    for portion in _portions(data_files):
        affected = [file for file in _affected_files(table, portion, removal) if file.causes]
        if affected:
            _remove_portion(table, ledger, topic, affected, removal, on_step)
        rows.update(_sum(file.causes for file in affected))
        files += len(affected)
    return RemovedRows(rows, files)


def count_rows(
    table: LakeTable, data_files: Sequence[LiveDataFile], removal: Removal
) -> RemovedRows:
    """What `remove_rows` would remove."""
    affected = [file for file in _affected_files(table, data_files, removal) if file.causes]
    return RemovedRows(_sum(file.causes for file in affected), len(affected))


def _portions(data_files: Sequence[LiveDataFile]) -> Iterator[list[LiveDataFile]]:
    portion: list[LiveDataFile] = []
    for data_file in data_files:
        if portion and sum(file.rows for file in portion) + data_file.rows > PORTION_ROWS:
            yield portion
            portion = []
        portion.append(data_file)
    if portion:
        yield portion


def _affected_files(
    table: LakeTable, data_files: Sequence[LiveDataFile], removal: Removal
) -> Iterator[_AffectedFile]:
    subject = table.table.subject_column
    columns = {*removal.columns, subject, *RECEIVED_COLUMNS}
    for data_file in data_files:
        causes, corrections = Counter[str](), Counter[CorrectionKey]()
        with verified_files(table, [data_file]) as (file,):
            for rows in read_batches(table.table, file, ROW_GROUP, columns):
                names = removal.causes(rows)
                removed = rows.filter(pc.is_valid(names))
                if removed.num_rows:
                    causes.update(names.drop_null().to_pylist())
                    corrections.update(_corrections(removed, subject, removal.reason))
        yield _AffectedFile(data_file, causes, corrections)


def _corrections(rows: pa.Table, subject: str, reason: str) -> Iterator[CorrectionKey]:
    """A key for each live row; the ledger has no entries of imported rows in the topic."""
    live = rows.filter(pc.greater_equal(rows["kafka_partition"], 0))
    received_ms = pc.divide(live["received_at"].cast(pa.int64()), 1000)
    for owner, ms in zip(live[subject].to_pylist(), received_ms.to_pylist(), strict=True):
        yield owner, ms // HOUR_MS * HOUR_MS, reason


def _remove_portion(
    table: LakeTable,
    ledger: LakeTable,
    topic: str,
    affected: Sequence[_AffectedFile],
    removal: Removal,
    on_step: Callable[[str], None],
) -> None:
    table.refresh()
    ledger.refresh()
    key = removal_key(topic)
    removed, corrected = table.next_offset(key), ledger.next_offset(key)
    number = max(removed, corrected)
    corrections = _sum(file.corrections for file in affected)
    if corrected > removed:
        corrections.subtract(_uncommitted_corrections(ledger, topic, removed))
    rows = _ledger_rows(topic, number, corrections)
    ledger.commit(write_files(ledger, rows), {key: OffsetUpdate(corrected, number + 1)})
    on_step("ledger")
    counts = {
        removed_key(cause): OffsetUpdate(before, before + count)
        for cause, count in _sum(file.causes for file in affected).items()
        for before in (table.next_offset(removed_key(cause)),)
    }
    rewrite_files(
        table,
        [file.data_file for file in affected if not file.is_emptied],
        lambda batch: batch.filter(pc.is_null(removal.causes(batch))),
        emptied=[file.data_file for file in affected if file.is_emptied],
        updates={key: OffsetUpdate(removed, number + 1), **counts},
    )
    on_step("rewrite")


def _uncommitted_corrections(ledger: LakeTable, topic: str, removed: int) -> Counter[CorrectionKey]:
    """Corrections of removals that the main table does not have, by the ledger's rows."""
    condition = (
        (pc.field("topic") == topic)
        & (pc.field("epoch") == REMOVAL_EPOCH)
        & (pc.field("kafka_offset") >= removed)
    )
    names = ("subject_id", "ts", "drop_reason", "dropped")
    data_files = read_version(ledger.handle, LEDGER).data_files
    counts = Counter[CorrectionKey]()
    for batch in read_table(ledger.handle, LEDGER, data_files, names, condition):
        columns = (batch.column(name).to_pylist() for name in names)
        for subject, hour, reason, dropped in zip(*columns, strict=True):
            counts[subject, round(hour.timestamp() * 1000), reason] += dropped
    return counts


def _ledger_rows(topic: str, number: int, corrections: Counter[CorrectionKey]) -> pa.Table:
    entries = [(key, count) for key, count in corrections.items() if count]
    nothing = [0] * len(entries)
    return pa.table(
        {
            "subject_id": [subject for (subject, _, _), _ in entries],
            "ts": [hour_ms * 1000 for (_, hour_ms, _), _ in entries],
            "topic": [topic] * len(entries),
            "kafka_partition": [REMOVAL_PARTITION] * len(entries),
            "kafka_offset": [number] * len(entries),
            "seq": list(range(len(entries))),
            "received": nothing,
            "stored": [-count for _, count in entries],
            "duplicate": nothing,
            "quarantined": nothing,
            "dropped": [count for _, count in entries],
            "drop_reason": [reason for (_, _, reason), _ in entries],
            "epoch": [REMOVAL_EPOCH] * len(entries),
        },
        schema=arrow_schema(LEDGER),
    )


def _sum(counts: Iterable[Counter[NameT]]) -> Counter[NameT]:
    total: Counter[NameT] = Counter()
    for count in counts:
        total.update(count)
    return total
