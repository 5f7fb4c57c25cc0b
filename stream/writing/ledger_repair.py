"""Rebuilds ledger entries that were lost, from table and quarantine.

The ledger is committed before the table, so it is never behind, unless its newest log entries were
lost: by damage that the order of fsync prevents, or by restoring a backup older than the table's.
Received is the sum of stored and quarantined rows; both carry the offsets of their messages.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake.exceptions import DeltaError

from schemas.lake.committed_offsets import app_id
from schemas.runtime.settings import Settings
from schemas.tables import QUARANTINE, Table
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import QuarantineEntry, QuarantineStage
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.storage.table_schema import arrow_schema
from stream.writing.side_tables import write_files

log = logging.getLogger(__name__)

PARTITION, OFFSET = "kafka_partition", "kafka_offset"


def missing_ranges(
    ledger: Callable[[str], int], topic: str, epoch: int, next_offsets: Mapping[int, int]
) -> dict[str, tuple[int, OffsetUpdate]]:
    """Offsets that the table has and the ledger does not, with their partition, by offset key.

    `ledger` returns the ledger's next offset under an application id.
    """
    missing: dict[str, tuple[int, OffsetUpdate]] = {}
    for partition, next_offset in next_offsets.items():
        name = app_id(epoch, topic, partition)
        if (ledger_offset := ledger(name)) < next_offset:
            missing[name] = partition, OffsetUpdate(ledger_offset, next_offset)
    return missing


def warn_ledger_behind(
    settings: Settings,  # noqa: ARG001 - same signature as `rebuild_ledger`
    main: Table,  # noqa: ARG001
    ledger: LakeTable,
    topic: str,
    epoch: int,
    next_offsets: Mapping[int, int],
) -> None:
    """Log that the ledger is behind: an import's duplicates and drops are in no other table."""
    if missing_ranges(ledger.next_offset, topic, epoch, next_offsets):
        log.error("ledger is behind its table and was not rebuilt", extra={"topic": topic})


def rebuild_ledger(
    settings: Settings,
    main: Table,
    ledger: LakeTable,
    topic: str,
    epoch: int,
    next_offsets: Mapping[int, int],
) -> None:
    """Add the ledger's missing entries up to the main table's next offsets."""
    missing = missing_ranges(ledger.next_offset, topic, epoch, next_offsets)
    if not missing:
        return
    try:
        items = _rebuild(settings, LakeTable(settings, main), ledger, topic, epoch, missing)
    except (OSError, DeltaError, pa.ArrowException, Fenced) as error:
        reason = {"topic": topic, "reason": str(error)}
        log.error("ledger is behind its table and was not rebuilt", extra=reason)
    else:
        log.error(
            "ledger was behind its table and has been rebuilt",
            extra={"topic": topic, "items": items},
        )


def _rebuild(
    settings: Settings,
    main: LakeTable,
    ledger: LakeTable,
    topic: str,
    epoch: int,
    missing: Mapping[str, tuple[int, OffsetUpdate]],
) -> int:
    quarantine = LakeTable(settings, QUARANTINE)
    counts, counted = LedgerCounts({}), 0
    for partition, update in missing.values():
        offset_range = (
            (pc.field(PARTITION) == partition)
            & (pc.field(OFFSET) >= update.expected)
            & (pc.field(OFFSET) < update.next)
        )
        in_range = offset_range & (pc.field("epoch").is_null() | (pc.field("epoch") == epoch))
        for subject, at_ms, offset in _rows(
            main, in_range, main.table.subject_column, "received_at"
        ):
            counts.add_received(subject, at_ms, partition, offset, 1)
            counted += 1
        quarantined_here = (
            in_range
            & (pc.field("topic") == topic)
            & (pc.field("stage") != QuarantineStage.LOST.value)
        )
        for subject, at_ms, offset, stage in _rows(
            quarantine, quarantined_here, "subject_id", "ts", "stage"
        ):
            if stage != QuarantineStage.REPLAYED.value:  # received as what it is now
                counts.add_received(subject, at_ms, partition, offset, 1)
                counted += 1
            if stage == QuarantineStage.DUPLICATE.value:
                counts.add_duplicate(subject, at_ms, partition, offset)
            else:
                position = partition, offset, 0, subject
                counts.add_quarantined(
                    QuarantineEntry(QuarantineStage(stage), "", b"", at_ms, *position)
                )
    rows = counts.rows(topic, epoch)
    ledger.commit(
        write_files(ledger, rows), {name: update for name, (_, update) in missing.items()}
    )
    return counted


def _rows(
    table: LakeTable, condition: pc.Expression, subject: str, time: str, *others: str
) -> Iterator[tuple[Any, ...]]:
    """Subject, time in Unix milliseconds, offset and other columns of the rows that match."""
    for owner, timestamp, *rest in _columns(table, condition, (subject, time, OFFSET, *others)):
        yield owner, round(timestamp.timestamp() * 1000), *rest


def _columns(
    table: LakeTable, condition: pc.Expression, names: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    paths = table.handle.get_add_actions().column("path").to_pylist()
    if not paths:
        return
    data = ds.dataset(
        paths,
        schema=arrow_schema(table.table),
        filesystem=table.store.filesystem(),
        format="parquet",
    )
    for batch in data.to_batches(columns=list(names), filter=condition):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
