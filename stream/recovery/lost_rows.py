"""The rows that a damaged data file held, made again from Kafka: exactly those, each once.

A row of the file is an item that was received while the file's rows were, that lies below the
table's next offsets, and that is neither in another file of the table nor noted as a duplicate.
So nobody has to read the damaged file to know what was in it.
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
from schemas.tables import QUARANTINE
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.merge_plan import live_data_files
from stream.maintenance.verification import verified_files
from stream.recovery.topic_replay import ReplayRange, replay, topic_identity
from stream.rows.decoder import KafkaMessage
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import QuarantineEntry, QuarantineStage
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from stream.writing.ledger_repair import MAX_PARTITIONS

ROW_IDENTITY = ("kafka_partition", "kafka_offset", "seq")

_IDENTITY_SCHEMA = pa.schema(
    [("kafka_partition", pa.int32()), ("kafka_offset", pa.int64()), ("seq", pa.int32())]
)
MAX_EARLY_MS = 5 * 60_000
MAX_LATE_MS = 60 * 60_000
"""How much earlier or later than its items were received Kafka may have taken a message."""


class ReceivedRange(Struct, frozen=True):
    """When the rows were received, Unix milliseconds, both included."""

    first_ms: int
    last_ms: int


def received_ranges(table: LakeTable) -> dict[str, ReceivedRange]:
    """When the rows of each live file were received, by the log; of days where it says nothing."""
    actions = table.handle.get_add_actions(flatten=True)
    columns = {name: actions.column(name).to_pylist() for name in actions.schema.names}
    nothing = [None] * actions.num_rows
    named = zip(
        columns["path"],
        columns["partition.day"],
        columns.get("min.received_at", nothing),
        columns.get("max.received_at", nothing),
        strict=True,
    )
    return {path: _received_range(day, first, last) for path, day, first, last in named}


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
    """What of the lost rows Kafka still had."""

    rows: pa.Table
    duplicates: Sequence[QuarantineEntry]
    """Items that were sent again after the damage, and stored then."""
    epoch: int
    """Of the topic that Kafka has."""


class RowRecovery(BatchWriter):
    """A drain that makes rows and stores none."""

    def recover(self, table: LakeTable, span: ReceivedRange, wanted: int) -> RecoveredRows:
        """The lost rows of the span; no more than `wanted` are looked for."""
        self._main.refresh()
        epoch = self._epoch()
        below = self._end_offsets(epoch)
        if epoch is None or not below:
            return RecoveredRows(_no_rows(self), (), self.epoch)
        self.epoch = epoch
        held = pa.concat_tables(
            [_stored_identities(table, span, epoch), self._duplicate_identities(span)]
        )
        made: list[pa.Table] = []

        def take(arrived: Sequence[KafkaMessage]) -> bool:
            rows = _within(self._to_batch(arrived, LedgerCounts({})).table, span)
            made.append(_without(rows, held))
            return bool(sum(part.num_rows for part in made) < wanted)

        stretch = ReplayRange(span.first_ms - MAX_EARLY_MS, span.last_ms + MAX_LATE_MS, below)
        replay(self._settings.brokers, self.topic, stretch, take)
        if not made:
            return RecoveredRows(_no_rows(self), (), self.epoch)
        told = self._state.resolve(
            pa.concat_tables(made).combine_chunks(),
            lambda p: self._main.next_offset(self._offset_key(p)),
        )
        return RecoveredRows(told.rows, told.duplicates, epoch)

    def _epoch(self) -> int | None:
        """Under which epoch the table read the topic that Kafka has; None when it is another."""
        identity = topic_identity(self._settings.brokers, self.topic)
        if identity and (known := self._main.next_offset(identity_app_id(self.topic, identity.id))):
            return known
        return None if self._main.next_offset(epoch_app_id(self.topic)) else self.epoch

    def _end_offsets(self, epoch: int | None) -> dict[int, int]:
        if epoch is None:
            return {}
        nexts = {
            partition: self._main.next_offset(app_id(epoch, self.topic, partition))
            for partition in range(MAX_PARTITIONS)
        }
        return {partition: offset for partition, offset in nexts.items() if offset}

    def _duplicate_identities(self, span: ReceivedRange) -> pa.Table:
        """Where duplicates lay: they were received, and are no rows."""
        self._quarantine.refresh()
        found = [_IDENTITY_SCHEMA.empty_table()]
        for piece in live_data_files(self._quarantine.handle, QUARANTINE):
            if piece.last_time and _ms(piece.last_time) < span.first_ms:
                continue
            with verified_files(self._quarantine, [piece]) as (file,):
                rows = pq.read_table(
                    file, columns=["topic", "stage", *ROW_IDENTITY], partitioning=None
                )
            mine = pc.and_(
                pc.equal(rows["topic"], self.topic),
                pc.equal(rows["stage"], QuarantineStage.DUPLICATE.value),
            )
            found.append(rows.filter(mine).select(list(ROW_IDENTITY)).cast(_IDENTITY_SCHEMA))
        return pa.concat_tables(found)


def recover_rows(
    settings: Settings,
    kind: Kind,
    lookups: Lookups,
    table: LakeTable,
    span: ReceivedRange,
    wanted: int,
) -> RecoveredRows:
    """The lost rows of a kind's table; Damaged when another file that could hold them is, too."""
    return RowRecovery(settings, kind, lookups).recover(table, span, wanted)


def _no_rows(drain: RowRecovery) -> pa.Table:
    return drain._to_batch([], LedgerCounts({})).table


def _stored_identities(table: LakeTable, span: ReceivedRange, epoch: int) -> pa.Table:
    """Identities of all rows of this epoch that whole files hold."""
    noted = table.damage_reports.of_table(table.table.name)
    received = received_ranges(table)
    found = [_IDENTITY_SCHEMA.empty_table()]
    for piece in live_data_files(table.handle, table.table):
        own = received[piece.path]
        apart = own.last_ms < span.first_ms or span.last_ms < own.first_ms
        if apart or piece.is_imported or piece.path.rpartition("/")[2] in noted:
            continue
        with verified_files(table, [piece]) as (file,):
            names = pq.read_schema(file).names
            columns = [*ROW_IDENTITY, "received_at", *(["epoch"] if "epoch" in names else [])]
            rows = _within(pq.read_table(file, columns=columns, partitioning=None), span)
        if "epoch" in names:  # of rows from before epochs were told, any may be meant
            rows = rows.filter(pc.fill_null(pc.equal(rows["epoch"], epoch), True))
        found.append(rows.select(list(ROW_IDENTITY)).cast(_IDENTITY_SCHEMA))
    return pa.concat_tables(found)


def _within(rows: pa.Table, span: ReceivedRange) -> pa.Table:
    at = rows["received_at"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    first, last = span.first_ms * 1000, (span.last_ms + 1) * 1000
    return rows.filter(pc.and_(pc.greater_equal(at, first), pc.less(at, last)))


def _without(rows: pa.Table, held: pa.Table) -> pa.Table:
    """The rows whose identity is not held."""
    keyed = rows.select(list(ROW_IDENTITY)).append_column(
        "at", pa.array(range(rows.num_rows), pa.int64())
    )
    left = keyed.join(held, list(ROW_IDENTITY), join_type="left anti")
    return rows.take(left["at"].sort())
