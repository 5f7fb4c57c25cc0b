"""Offsets of the stored rows: no row twice, and no message without a row.

Each message below a table's next offset has rows in the table or entries in the quarantine, unless
its items were dropped on purpose. So a missing offset is a message that was lost, and a row key
(epoch, partition, offset, position) that occurs twice is an item that counts twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from schemas.lake.committed_offsets import app_id
from schemas.lake.delta_table import read_version
from schemas.lake.quarantine_reasons import REPLAY_PREFIX
from stream.rows.quarantine import QuarantineStage
from stream.storage.table_reader import TableReader, read_batches
from stream.writing.ledger_repair import OFFSET, PARTITION

EPOCH, POSITION = "epoch", "seq"
MESSAGE = (EPOCH, PARTITION, OFFSET)


class OffsetProblem(Struct, frozen=True, rename="camel"):
    """Offsets of one topic partition that are missing or stored twice."""

    topic: str
    epoch: int
    partition: int
    first_offset: int
    next_offset: int
    problem: str


def repeated_rows(topic: str, main: TableReader, since: str = "") -> Iterator[OffsetProblem]:
    """Messages with rows that are stored more than once, by day of receipt.

    A row that is stored twice has the same time of receipt, so one day is in memory at a time.
    """
    keys = (*MESSAGE, POSITION)
    for _, rows in _days(main, since, keys):
        counted = rows.group_by(list(keys)).aggregate([([], "count_all")])
        repeated = counted.filter(pc.greater(counted["count_all"], 1))
        messages = repeated.group_by(list(MESSAGE)).aggregate([("count_all", "sum")])
        columns = (messages[name].to_pylist() for name in (*MESSAGE, "count_all_sum"))
        for epoch, partition, offset, count in zip(*columns, strict=True):
            what = f"rows of its items are stored more than once ({count} rows)"
            yield OffsetProblem(topic, epoch, partition, offset, offset + 1, what)


def missing_offsets(
    topic: str, main: TableReader, quarantine: TableReader | None, since: str = ""
) -> Iterator[OffsetProblem]:
    """Messages between the first one of `since` and the next offset that have no row or entry."""
    # From the day before on: at midnight messages of both days are between each other.
    before = str(date.fromisoformat(since) - timedelta(days=1)) if since else ""
    by_day = [(day, _distinct(rows)) for day, rows in _days(main, before, MESSAGE)]
    if quarantine:
        by_day += [
            (day, _distinct(_entries(rows, topic)))
            for day, rows in _days(quarantine, before, (*MESSAGE, "topic", "stage"))
        ]
    rows = [rows for day, rows in by_day if rows.num_rows and day >= since]
    if not rows:
        return
    first = _by_partition(pa.concat_tables(rows), "min")
    stored = _distinct(pa.concat_tables([rows for _, rows in by_day] + _replays(quarantine, topic)))
    gaps = [
        *_inner_gaps(stored),
        *((*key, last + 1, None) for key, last in _by_partition(stored, "max").items()),
    ]
    lost = _lost_ranges(quarantine, topic) if quarantine else {}
    for epoch, partition, start, end in gaps:
        next_offset = main.number(app_id(epoch, topic, partition))
        start = max(start, first.get((epoch, partition), next_offset))
        end = next_offset if end is None else min(end, next_offset)
        for begin, after in _unexplained(start, end, lost.get((epoch, partition), ())):
            what = f"{after - begin} messages have no row, and no entry in the quarantine"
            yield OffsetProblem(topic, epoch, partition, begin, after, what)


def _days(
    reader: TableReader, since: str, columns: Sequence[str]
) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each day of receipt, without imported ones: watermarks tell those apart."""
    files = sorted(read_version(reader.handle, reader.table).data_files, key=lambda file: file.day)
    for day, data_files in groupby(files, key=lambda file: file.day):
        if day >= since:
            batches = list(read_batches(reader.handle, reader.table, list(data_files), columns))
            rows = pa.Table.from_batches(batches)
            rows = rows.filter(pc.greater_equal(rows[PARTITION], 0))
            epochs = pc.fill_null(rows[EPOCH], 0)
            yield day, rows.set_column(rows.schema.get_field_index(EPOCH), EPOCH, epochs)


def _entries(rows: pa.Table, topic: str) -> pa.Table:
    is_lost = pc.equal(rows["stage"], QuarantineStage.LOST.value)
    return rows.filter(pc.and_not(pc.equal(rows["topic"], topic), is_lost))


def _distinct(rows: pa.Table) -> pa.Table:
    return rows.select(list(MESSAGE)).group_by(list(MESSAGE)).aggregate([])


def _by_partition(rows: pa.Table, aggregate: str) -> Mapping[tuple[int, int], int]:
    """Smallest or largest offset by epoch and partition."""
    grouped = rows.group_by([EPOCH, PARTITION]).aggregate([(OFFSET, aggregate)])
    columns = (grouped[name].to_pylist() for name in (EPOCH, PARTITION, f"{OFFSET}_{aggregate}"))
    return {(epoch, partition): offset for epoch, partition, offset in zip(*columns, strict=True)}


def _inner_gaps(stored: pa.Table) -> Iterator[tuple[int, int, int, int]]:
    """Epoch, partition, first offset and offset behind each gap between stored offsets."""
    ordered = stored.sort_by([(name, "ascending") for name in MESSAGE]).combine_chunks()
    steps = {name: pc.pairwise_diff(ordered[name].combine_chunks()) for name in MESSAGE}
    is_gap = pc.and_(
        pc.and_(pc.equal(steps[EPOCH], 0), pc.equal(steps[PARTITION], 0)),
        pc.greater(steps[OFFSET], 1),
    )
    behind = ordered.append_column("step", steps[OFFSET]).filter(is_gap)
    columns = (behind[name].to_pylist() for name in (*MESSAGE, "step"))
    for epoch, partition, offset, step in zip(*columns, strict=True):
        yield epoch, partition, offset - step + 1, offset


def _replays(quarantine: TableReader | None, topic: str) -> list[pa.Table]:
    """Messages of replayed items, of all days: their offset is new and their receipt is old."""
    if quarantine is None:
        return []
    is_replay = pc.starts_with(pc.field("reason"), REPLAY_PREFIX)
    batches = list(quarantine.batches(MESSAGE, is_replay & (pc.field("topic") == topic)))
    if not batches:
        return []
    rows = pa.Table.from_batches(batches)
    epochs = pc.fill_null(rows[EPOCH], 0)
    return [_distinct(rows.set_column(rows.schema.get_field_index(EPOCH), EPOCH, epochs))]


def _lost_ranges(
    quarantine: TableReader, topic: str
) -> Mapping[tuple[int, int], Sequence[tuple[int, int]]]:
    """Messages that Kafka deleted before they were read, by epoch and partition, in order."""
    ranges: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for batch in quarantine.batches(
        (EPOCH, PARTITION, "first_offset", "next_offset"),
        (pc.field("stage") == QuarantineStage.LOST.value) & (pc.field("topic") == topic),
    ):
        columns = (column.to_pylist() for column in batch.columns)
        for epoch, partition, first, after in zip(*columns, strict=True):
            if after is not None:
                ranges.setdefault((epoch or 0, partition), []).append((first, after))
    return {key: sorted(found) for key, found in ranges.items()}


def _unexplained(
    start: int, end: int, lost: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """The parts of a gap that no lost range covers."""
    for first, after in lost:
        if start < min(first, end):
            yield start, min(first, end)
        start = max(start, after)
    if start < end:
        yield start, end
