"""Rebuilds ledger entries that were lost, from table and quarantine.

The ledger is committed before the table, so it is never behind, unless its newest log entries were
lost: by damage that the order of fsync prevents, or by restoring a backup older than the table's.
Received is the sum of stored and quarantined rows; both carry the offsets of their messages.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake.exceptions import DeltaError

from schemas.lake.committed_offsets import app_id, epoch_app_id
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, QUARANTINE
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import QuarantineEntry, QuarantineStage
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.storage.table_schema import arrow_schema
from stream.writing.side_tables import write_files

log = logging.getLogger(__name__)

PARTITION, OFFSET = "kafka_partition", "kafka_offset"
MAX_PARTITIONS = 1024
"""Partitions of a topic that are looked at where Kafka is not asked how many there are."""


def missing_ranges(
    ledger: LakeTable, topic: str, epoch: int, next_offsets: Mapping[int, int]
) -> dict[str, tuple[int, OffsetUpdate]]:
    """Offsets that the table has and the ledger does not, with their partition, by offset key."""
    missing: dict[str, tuple[int, OffsetUpdate]] = {}
    for partition, next_offset in next_offsets.items():
        name = app_id(epoch, topic, partition)
        if (ledger_offset := ledger.next_offset(name)) < next_offset:
            missing[name] = partition, OffsetUpdate(ledger_offset, next_offset)
    return missing


def all_missing_ranges(
    settings: Settings, topic: str, main: LakeTable
) -> dict[str, tuple[int, OffsetUpdate]]:
    """The missing ranges of all topic partitions, in the newest epoch that the table knows."""
    epoch = main.next_offset(epoch_app_id(topic)) or settings.ingest_epoch
    next_offsets = {
        partition: main.next_offset(app_id(epoch, topic, partition))
        for partition in range(MAX_PARTITIONS)
    }
    return missing_ranges(LakeTable(settings, LEDGER), topic, epoch, next_offsets)


def warn_ledger_behind(
    settings: Settings,
    main: LakeTable,  # noqa: ARG001 - same signature as `rebuild_ledger`
    topic: str,
    epoch: int,
    next_offsets: Mapping[int, int],
) -> None:
    """Log that the ledger is behind: an import's duplicates and drops are in no other table."""
    if missing_ranges(LakeTable(settings, LEDGER), topic, epoch, next_offsets):
        log.error("ledger is behind its table and was not rebuilt", extra={"topic": topic})


def rebuild_ledger(
    settings: Settings, main: LakeTable, topic: str, epoch: int, next_offsets: Mapping[int, int]
) -> None:
    """Add the ledger's missing entries up to the table's next offsets."""
    ledger = LakeTable(settings, LEDGER)
    missing = missing_ranges(ledger, topic, epoch, next_offsets)
    if not missing:
        return
    try:
        items = _rebuild(settings, main, ledger, topic, epoch, missing)
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


def ledger_counts(settings: Settings, topic: str, main: LakeTable) -> dict[str, int]:
    """The ledger's sums of a topic, up to the table's next offsets; a batch may be running."""
    names = ("stored", "duplicate", "quarantined")
    sums = dict.fromkeys(names, 0)
    for values in _topic_rows(LakeTable(settings, LEDGER), topic, main, names):
        for name, value in zip(names, values, strict=True):
            sums[name] += value
    return sums


def quarantine_counts(settings: Settings, topic: str, main: LakeTable) -> dict[str, int]:
    """The quarantine's rows of a topic, up to the table's next offsets."""
    sums = {"duplicate": 0, "quarantined": 0}
    for (stage,) in _topic_rows(LakeTable(settings, QUARANTINE), topic, main, ("stage",)):
        if stage != QuarantineStage.LOST.value:
            sums["duplicate" if stage == QuarantineStage.DUPLICATE.value else "quarantined"] += 1
    return sums


def _topic_rows(
    side_table: LakeTable, topic: str, main: LakeTable, names: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """Columns of those rows of a side table whose messages the main table holds."""
    next_offsets: dict[tuple[int, int], int] = {}
    for epoch, partition, offset, *values in _columns(
        side_table, pc.field("topic") == topic, ("epoch", PARTITION, OFFSET, *names)
    ):
        key = epoch or 0, partition
        if epoch is not None and key not in next_offsets:
            next_offsets[key] = main.next_offset(app_id(epoch, topic, partition))
        if epoch is None or offset < next_offsets[key]:
            yield tuple(values)


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
