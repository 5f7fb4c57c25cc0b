"""Messages that a table holds and the ledger does not know: counted again from what is stored.

The ledger goes before the table, so it is never behind, unless its newest log entries were lost: to
a damage that the order of fsync prevents, or to a backup older than that of the table. What was
received is what is stored and what is in the quarantine; both name the offsets of their messages.
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
from stream.rows.arrow_tables import received_column, split_by_day
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import QuarantineEntry, QuarantineStage
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.storage.parquet_writer import write_data_file
from stream.storage.table_schema import arrow_schema

log = logging.getLogger(__name__)

PARTITION, OFFSET = "kafka_partition", "kafka_offset"
MOST_PARTITIONS = 1024
"""Of a topic, when nobody asks Kafka how many it has."""


def missing_ranges(
    ledger: LakeTable, topic: str, epoch: int, nexts: Mapping[int, int]
) -> dict[str, tuple[int, OffsetUpdate]]:
    """Where the ledger is behind its table: by the name of the offset, the partition and both."""
    found: dict[str, tuple[int, OffsetUpdate]] = {}
    for partition, next_ in nexts.items():
        name = app_id(epoch, topic, partition)
        if (known := ledger.next_offset(name)) < next_:
            found[name] = partition, OffsetUpdate(known, next_)
    return found


def behind_of(
    settings: Settings, topic: str, main: LakeTable
) -> dict[str, tuple[int, OffsetUpdate]]:
    """The same of all topic partitions, in the newest epoch that the table knows."""
    epoch = main.next_offset(epoch_app_id(topic)) or settings.ingest_epoch
    nexts = {
        partition: main.next_offset(app_id(epoch, topic, partition))
        for partition in range(MOST_PARTITIONS)
    }
    return missing_ranges(LakeTable(settings, LEDGER), topic, epoch, nexts)


def warn_ledger_behind(
    settings: Settings,
    main: LakeTable,  # noqa: ARG001 - as `rebuild_ledger` has it
    topic: str,
    epoch: int,
    nexts: Mapping[int, int],
) -> None:
    """Say it only: copies and drops of history are noted nowhere else."""
    if missing_ranges(LakeTable(settings, LEDGER), topic, epoch, nexts):
        log.error("the ledger stays behind its table", extra={"topic": topic})


def rebuild_ledger(
    settings: Settings, main: LakeTable, topic: str, epoch: int, nexts: Mapping[int, int]
) -> None:
    """Bring the ledger up to the table's next offsets, where it is behind them."""
    ledger = LakeTable(settings, LEDGER)
    missing = missing_ranges(ledger, topic, epoch, nexts)
    if not missing:
        return
    try:
        items = _rebuild(settings, main, ledger, topic, epoch, missing)
    except (OSError, DeltaError, pa.ArrowException, Fenced) as refused:
        reason = {"topic": topic, "reason": str(refused)}
        log.error("the ledger stays behind its table", extra=reason)
    else:
        log.error("the ledger was behind its table", extra={"topic": topic, "items": items})


def _rebuild(
    settings: Settings,
    main: LakeTable,
    ledger: LakeTable,
    topic: str,
    epoch: int,
    missing: Mapping[str, tuple[int, OffsetUpdate]],
) -> int:
    quarantine = LakeTable(settings, QUARANTINE)
    tally, counted = LedgerCounts({}), 0
    for partition, move in missing.values():
        within = (
            (pc.field(PARTITION) == partition)
            & (pc.field(OFFSET) >= move.expected)
            & (pc.field(OFFSET) < move.next)
        )
        own = within & (pc.field("epoch").is_null() | (pc.field("epoch") == epoch))
        for subject, at_ms, offset in _rows(main, own, main.table.subject_column, "received_at"):
            tally.add_received(subject, at_ms, partition, offset, 1)
            counted += 1
        mine = (
            own & (pc.field("topic") == topic) & (pc.field("stage") != QuarantineStage.LOST.value)
        )
        for subject, at_ms, offset, stage in _rows(quarantine, mine, "subject_id", "ts", "stage"):
            tally.add_received(subject, at_ms, partition, offset, 1)
            counted += 1
            if stage == QuarantineStage.DUPLICATE.value:
                tally.add_duplicate(subject, at_ms, partition, offset)
            else:
                place = partition, offset, 0, subject
                tally.add_quarantined(
                    QuarantineEntry(QuarantineStage(stage), "", b"", at_ms, *place)
                )
    rows = tally.rows(topic, epoch)
    parts = [
        write_data_file(ledger.store, ledger.table, day, of_day)
        for day, of_day in split_by_day(rows, received_column(ledger.table))
    ]
    ledger.commit(parts, {name: move for name, (_, move) in missing.items()})
    return counted


def ledger_counts(settings: Settings, topic: str, main: LakeTable) -> dict[str, int]:
    """The ledger's sums of a topic, as far as the table goes; a batch may be under way."""
    names = ("stored", "duplicate", "quarantined")
    sums = dict.fromkeys(names, 0)
    for values in _topic_rows(LakeTable(settings, LEDGER), topic, main, names):
        for name, value in zip(names, values, strict=True):
            sums[name] += value
    return sums


def quarantine_counts(settings: Settings, topic: str, main: LakeTable) -> dict[str, int]:
    """How many rows the quarantine has of a topic, as far as the table goes."""
    sums = {"duplicate": 0, "quarantined": 0}
    for (stage,) in _topic_rows(LakeTable(settings, QUARANTINE), topic, main, ("stage",)):
        if stage != QuarantineStage.LOST.value:
            sums["duplicate" if stage == QuarantineStage.DUPLICATE.value else "quarantined"] += 1
    return sums


def _topic_rows(
    side: LakeTable, topic: str, main: LakeTable, names: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """Columns of a side table's rows about messages that the main table holds."""
    epochs: dict[tuple[int, int], int] = {}
    for epoch, partition, offset, *values in _columns(
        side, pc.field("topic") == topic, ("epoch", PARTITION, OFFSET, *names)
    ):
        place = epoch or 0, partition
        if epoch is not None and place not in epochs:
            epochs[place] = main.next_offset(app_id(epoch, topic, partition))
        if epoch is None or offset < epochs[place]:
            yield tuple(values)


def _rows(
    table: LakeTable, wanted: pc.Expression, subject: str, time: str, *others: str
) -> Iterator[tuple[Any, ...]]:
    """Subject, time in Unix milliseconds, offset and other columns of the rows that are wanted."""
    for own, at, *rest in _columns(table, wanted, (subject, time, OFFSET, *others)):
        yield own, round(at.timestamp() * 1000), *rest


def _columns(
    table: LakeTable, wanted: pc.Expression, names: Sequence[str]
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
    for batch in data.to_batches(columns=list(names), filter=wanted):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
