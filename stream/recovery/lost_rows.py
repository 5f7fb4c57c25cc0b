"""Recovers the rows of a damaged data file from Kafka: exactly those, each once.

A row of the file is an item that was received in the same time range as the file's rows, has an
offset below the table's next offset, is neither in another file of the table nor quarantined as
a duplicate, and is not erased or due for deletion by age. So the damaged file need not be read.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from schemas.kinds import Kind
from schemas.lake.committed_offsets import app_id, epoch_app_id, identity_app_id
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, QUARANTINE
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.merge_plan import live_data_files
from stream.maintenance.retention import read_expiries
from stream.maintenance.verification import verified_files
from stream.recovery.topic_replay import ReplayRange, replay, topic_identity
from stream.rows.erased_rows import erasure_ids
from stream.rows.kafka_message import KafkaMessage
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import QuarantineEntry, QuarantineStage
from stream.rows.row_batch import KEY_COLUMNS
from stream.state.id_index import MemoryBudget
from stream.state.table_state import TableState
from stream.storage.delta_commit import LakeTable
from stream.storage.table_schema import arrow_schema
from stream.writing.batch_preparation import prepare_batch
from stream.writing.writer_role import LIVE_WRITER, CommittedOffsets

_KEY_SCHEMA = pa.schema(
    [("kafka_partition", pa.int32()), ("kafka_offset", pa.int64()), ("seq", pa.int32())]
)
MAX_PARTITIONS = 1024
"""Partitions of a topic that are looked at: Kafka is not asked how many there are."""
MAX_EARLY_MS = 5 * 60_000
MAX_LATE_MS = 60 * 60_000
"""How much earlier or later than the receipt of its items a message may be stamped by Kafka."""


class ReceivedRange(Struct, frozen=True):
    """Time range of receipt, Unix milliseconds, both included."""

    first_ms: int
    last_ms: int


def received_ranges(table: LakeTable) -> dict[str, ReceivedRange]:
    """Time range of receipt of each data file by the log; its whole day without statistics."""
    actions = table.handle.get_add_actions(flatten=True)
    columns = {name: actions.column(name).to_pylist() for name in actions.schema.names}
    nothing = [None] * actions.num_rows
    files = zip(
        columns["path"],
        columns["partition.day"],
        columns.get("min.received_at", nothing),
        columns.get("max.received_at", nothing),
        strict=True,
    )
    return {path: _received_range(day, first, last) for path, day, first, last in files}


def _received_range(day: date, first: datetime | None, last: datetime | None) -> ReceivedRange:
    midnight = _ms(datetime.combine(day, time(), UTC))
    return ReceivedRange(
        midnight if first is None else _ms(first),
        midnight + 86_400_000 - 1 if last is None else _ms(last),
    )


def _ms(instant: datetime) -> int:
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)


class RecoveredRows(Struct, frozen=True):
    """The lost rows that Kafka still had."""

    rows: pa.Table
    duplicates: Sequence[QuarantineEntry]
    """Items that were sent again after the damage and stored then."""
    epoch: int
    """Epoch of the topic that Kafka has."""


class RowRecovery:
    """Decodes and enriches rows as the batch writer does, and stores none."""

    def __init__(self, settings: Settings, kind: Kind, lookups: Lookups) -> None:
        self._settings = settings
        self._kind = kind
        self._lookups = lookups
        self._topic = settings.topic(kind.topic)
        self._main = LakeTable(settings, kind.table)
        self._quarantine = LakeTable(settings, QUARANTINE)
        self._ledger = LakeTable(settings, LEDGER)
        self._state = TableState(self._main, self._topic, MemoryBudget.of(settings))
        self._expiries = read_expiries(settings, kind.table)

    def recover(self, table: LakeTable, received: ReceivedRange, wanted: int) -> RecoveredRows:
        """The lost rows of the time range; stops when `wanted` rows are found."""
        self._main.refresh()
        epoch = self._epoch()
        end_offsets = self.end_offsets(epoch)
        if epoch is None or not end_offsets:
            return RecoveredRows(self._no_rows(), (), self._settings.ingest_epoch)
        offsets = CommittedOffsets(self._topic, epoch, self._main, self._ledger)
        received_elsewhere = pa.concat_tables(
            [_stored_keys(table, received, epoch), self._duplicate_keys(received)]
        )
        lost: list[pa.Table] = []

        def handle(messages: Sequence[KafkaMessage]) -> bool:
            rows = _within(self._prepare(messages, offsets), received)
            lost.append(_without(rows, received_elsewhere))
            return bool(sum(rows.num_rows for rows in lost) < wanted)

        replay_range = ReplayRange(
            received.first_ms - MAX_EARLY_MS, received.last_ms + MAX_LATE_MS, end_offsets
        )
        replay(self._settings, self._topic, replay_range, handle)
        if not lost:
            return RecoveredRows(self._no_rows(), (), epoch)
        resolved = self._state.resolve(pa.concat_tables(lost).combine_chunks(), offsets.next_offset)
        return RecoveredRows(resolved.rows, resolved.duplicates, epoch)

    def _prepare(self, messages: Sequence[KafkaMessage], offsets: CommittedOffsets) -> pa.Table:
        counts = LedgerCounts({})  # the ledger has these items
        batch = prepare_batch(self._kind, messages, self._lookups, LIVE_WRITER, offsets, counts)
        table = self._kind.table
        rows = batch.rows.cast(arrow_schema(table))  # batches differ in dictionaries
        rows = rows.filter(pc.is_null(erasure_ids(rows, table, self._lookups.tombstones())))
        for expiry in self._expiries:  # deleted by age since, or about to be
            rows = rows.filter(pc.is_null(expiry.causes(rows, table.subject_column)))
        return rows

    def _no_rows(self) -> pa.Table:
        return arrow_schema(self._kind.table).empty_table()

    def _epoch(self) -> int | None:
        """The epoch of the topic that Kafka has; None when the table read another topic."""
        kafka_topic = topic_identity(self._settings, self._topic)
        if kafka_topic and (
            epoch := self._main.next_offset(identity_app_id(self._topic, kafka_topic.id))
        ):
            return epoch
        has_read_another = self._main.next_offset(epoch_app_id(self._topic)) > 0
        return None if has_read_another else self._settings.ingest_epoch

    def end_offsets(self, epoch: int | None) -> dict[int, int]:
        """The next offset of each partition that the table has read in an epoch."""
        if epoch is None:
            return {}
        next_offsets = {
            partition: self._main.next_offset(app_id(epoch, self._topic, partition))
            for partition in range(MAX_PARTITIONS)
        }
        return {partition: offset for partition, offset in next_offsets.items() if offset}

    def _duplicate_keys(self, received: ReceivedRange) -> pa.Table:
        """Row keys of duplicates: they were received and are not rows of the table."""
        self._quarantine.refresh()
        keys = [_KEY_SCHEMA.empty_table()]
        for data_file in live_data_files(self._quarantine.handle, QUARANTINE):
            if data_file.last_time and _ms(data_file.last_time) < received.first_ms:
                continue
            with verified_files(self._quarantine, [data_file]) as (file,):
                rows = pq.read_table(
                    file, columns=["topic", "stage", *KEY_COLUMNS], partitioning=None
                )
            is_duplicate = pc.and_(
                pc.equal(rows["topic"], self._topic),
                pc.equal(rows["stage"], QuarantineStage.DUPLICATE.value),
            )
            keys.append(rows.filter(is_duplicate).select(list(KEY_COLUMNS)).cast(_KEY_SCHEMA))
        return pa.concat_tables(keys)


def recover_rows(
    settings: Settings,
    kind: Kind,
    lookups: Lookups,
    table: LakeTable,
    received: ReceivedRange,
    wanted: int,
) -> RecoveredRows:
    """The lost rows of a table; DamagedFileError when another file of their time is damaged."""
    return RowRecovery(settings, kind, lookups).recover(table, received, wanted)


def _stored_keys(table: LakeTable, received: ReceivedRange, epoch: int) -> pa.Table:
    """Keys of all rows of this epoch in undamaged files."""
    damaged = table.damage_reports.of_table(table.table.name)
    ranges = received_ranges(table)
    keys = [_KEY_SCHEMA.empty_table()]
    for data_file in live_data_files(table.handle, table.table):
        of_file = ranges[data_file.path]
        is_disjoint = of_file.last_ms < received.first_ms or received.last_ms < of_file.first_ms
        if is_disjoint or data_file.is_imported or data_file.path.rpartition("/")[2] in damaged:
            continue
        with verified_files(table, [data_file]) as (file,):
            names = pq.read_schema(file).names
            columns = [*KEY_COLUMNS, "received_at", *(["epoch"] if "epoch" in names else [])]
            rows = _within(pq.read_table(file, columns=columns, partitioning=None), received)
        if "epoch" in names:  # rows without an epoch may be of any
            rows = rows.filter(pc.fill_null(pc.equal(rows["epoch"], epoch), True))
        keys.append(rows.select(list(KEY_COLUMNS)).cast(_KEY_SCHEMA))
    return pa.concat_tables(keys)


def _within(rows: pa.Table, received: ReceivedRange) -> pa.Table:
    at = rows["received_at"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    first, last = received.first_ms * 1000, (received.last_ms + 1) * 1000
    return rows.filter(pc.and_(pc.greater_equal(at, first), pc.less(at, last)))


def _without(rows: pa.Table, received: pa.Table) -> pa.Table:
    """The rows whose key no received row has."""
    keys = rows.select(list(KEY_COLUMNS)).append_column(
        "index", pa.array(range(rows.num_rows), pa.int64())
    )
    remaining = keys.join(received, list(KEY_COLUMNS), join_type="left anti")
    return rows.take(remaining["index"].sort())
