"""What became of the items of each subject and hour, by the ledger and by the rows themselves.

Two equations hold for each topic, subject and hour of receipt: received = stored + duplicate +
quarantined + dropped in the ledger, and its counts are those of the rows in table and quarantine.
Imported rows are not looked at: the ledger does not count what an undone import removed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from schemas.kinds import KINDS
from schemas.lake.committed_offsets import app_id
from schemas.lake.delta_table import read_version
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, QUARANTINE
from stream.rows.quarantine import QuarantineStage
from stream.storage.table_reader import TableReader, open_readers, read_batches
from stream.writing.ledger_repair import OFFSET, PARTITION

HOUR_US = 3_600_000_000
COUNTS = ("received", "stored", "duplicate", "quarantined", "dropped")

SubjectHour = tuple[str, str, int]
"""Topic, subject (empty when it is not known) and hour of receipt in Unix milliseconds."""


class HourlyCounts(Struct):
    """Items of one topic, subject and hour."""

    received: int = 0
    stored: int = 0
    duplicate: int = 0
    quarantined: int = 0
    dropped: int = 0
    rows: int = 0
    """Rows in the table."""
    duplicate_rows: int = 0
    """Entries of the quarantine that say duplicate."""
    quarantined_rows: int = 0
    """Other entries, less those of items that were replayed since."""

    def problems(self) -> Iterator[str]:
        """What differs, one sentence each."""
        named = self.stored + self.duplicate + self.quarantined + self.dropped
        if self.received != named:
            yield f"{self.received} were received, and {named} have an outcome"
        for name, counted, rows in (
            ("stored", self.stored, self.rows),
            ("duplicate", self.duplicate, self.duplicate_rows),
            ("quarantined", self.quarantined, self.quarantined_rows),
        ):
            if counted != rows:
                yield f"{rows} rows are {name}, but the ledger counted {counted}"


class LakeCounts(Struct, frozen=True):
    """All counts since a day, and the tables that they were read from."""

    by_hour: Mapping[SubjectHour, HourlyCounts]
    mains: Mapping[str, TableReader]
    """By topic."""
    quarantine: TableReader | None
    dropped_topics: frozenset[str]
    """Topics of which items were dropped on purpose at any time."""


def count_items(settings: Settings, since: str = "") -> LakeCounts:
    """Counts of items received on this UTC day (2026-11-29) or later; all when it is empty.

    Main tables are opened first, and of side tables only what lies below their next offsets counts:
    a batch may be running.
    """
    opened = open_readers(settings, (kind.table for kind in KINDS))
    mains = {
        settings.topic(kind.topic): opened[kind.table.name]
        for kind in KINDS
        if kind.table.name in opened
    }
    sides = open_readers(settings, (LEDGER, QUARANTINE))
    counts: dict[SubjectHour, HourlyCounts] = defaultdict(HourlyCounts)
    for topic, main in mains.items():
        for key, rows in _main_rows(topic, main, since):
            counts[key].rows += rows
    dropped = set()
    if LEDGER.name in sides:
        for key, values in _side_rows(sides[LEDGER.name], mains, "", *COUNTS):
            if values[-1]:
                dropped.add(key[0])
            if _day_us(since) <= key[2] * 1000:
                entry = counts[key]
                for name, value in zip(COUNTS, values, strict=True):
                    setattr(entry, name, getattr(entry, name) + value)
    if QUARANTINE.name in sides:
        for key, (stage,) in _side_rows(sides[QUARANTINE.name], mains, since, "stage"):
            if stage == QuarantineStage.DUPLICATE.value:
                counts[key].duplicate_rows += 1
            elif stage != QuarantineStage.LOST.value:
                is_replay = stage == QuarantineStage.REPLAYED.value
                counts[key].quarantined_rows += -1 if is_replay else 1
    return LakeCounts(counts, mains, sides.get(QUARANTINE.name), frozenset(dropped))


def rows_since(reader: TableReader, since: str, columns: Sequence[str]) -> Iterable[pa.RecordBatch]:
    """These columns of the rows of the days from `since` on; all when it is empty."""
    data_files = [
        file for file in read_version(reader.handle, reader.table).data_files if file.day >= since
    ]
    return read_batches(reader.handle, reader.table, data_files, columns)


def lasting_differences(
    earlier: Mapping[SubjectHour, HourlyCounts], later: Mapping[SubjectHour, HourlyCounts]
) -> Iterator[tuple[SubjectHour, HourlyCounts]]:
    """The hours that differ now and before: others were being written."""
    for key, counts in sorted(later.items()):
        before = earlier.get(key)
        if before and any(before.problems()) and any(counts.problems()):
            yield key, counts


def _main_rows(topic: str, main: TableReader, since: str) -> Iterator[tuple[SubjectHour, int]]:
    subject = main.table.subject_column
    for batch in rows_since(main, since, (subject, "received_at", PARTITION)):
        live = batch.filter(pc.greater_equal(batch[PARTITION], 0))
        grouped = (
            pa.table({"subject": live[subject], "hour": _hours(live["received_at"])})
            .group_by(["subject", "hour"])
            .aggregate([([], "count_all")])
        )
        columns = (grouped[name].to_pylist() for name in ("subject", "hour", "count_all"))
        for subject_id, hour, rows in zip(*columns, strict=True):
            yield (topic, subject_id or "", hour), rows


def _side_rows(
    side: TableReader, mains: Mapping[str, TableReader], since: str, *names: str
) -> Iterator[tuple[SubjectHour, tuple[Any, ...]]]:
    """Columns of the rows of a side table whose messages the main tables hold."""
    for batch in rows_since(
        side, since, ("topic", "subject_id", "ts", "epoch", PARTITION, OFFSET, *names)
    ):
        columns = [column.to_pylist() for column in batch.columns]
        columns[2] = _hours(batch["ts"]).to_pylist()
        for topic, subject, hour, epoch, partition, offset, *values in zip(*columns, strict=True):
            if topic in mains and (
                epoch is None or offset < mains[topic].number(app_id(epoch, topic, partition))
            ):
                yield (topic, subject or "", hour), tuple(values)


def _hours(instants: pa.Array) -> pa.Array:
    """The hour of each instant in Unix milliseconds."""
    micros = instants.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return pc.multiply(pc.divide(micros, HOUR_US), HOUR_US // 1000)


def _day_us(day: str) -> int:
    if not day:
        return 0
    micros: int = pa.scalar(day).cast(pa.date32()).cast(pa.timestamp("us")).cast(pa.int64()).as_py()
    return micros
