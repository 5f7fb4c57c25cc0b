"""The live data files of a table, and which of a day to merge."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time
from itertools import groupby

from deltalake import DeltaTable
from msgspec import Struct

from schemas.tables import Table
from stream.maintenance.sorted_rows import SLOT_MINUTES

SMALL_FILE_BYTES = 16 * 1024 * 1024
FULL_FILE_BYTES = 128 * 1024 * 1024
MAX_MEDIUM_FILES = 8
WAITING_ROWS = 10_000
"""Rows from which a small file may wait for others of its size."""
WAITING_SHARE = 0.5
"""A file with more rows than this multiple of all smaller files' rows together waits."""
QUIET_MS = 5 * 60_000
"""A past day without a new data file for so long is merged into its final form."""


class LiveDataFile(Struct, frozen=True):
    """One data file of the present version, with the statistics of the log."""

    path: str
    day: date
    rows: int
    size: int
    first_time: datetime | None
    """Smallest `ts`; None when unknown."""
    last_time: datetime | None
    modified_ms: int
    is_imported: bool = False
    """Whether all rows were imported; their `kafka_partition` is below 0."""
    subjects: tuple[str, str] | None = None
    """Smallest and largest subject id; None when unknown."""

    @property
    def is_late(self) -> bool:
        """Whether all rows happened before the day they were received on."""
        return self.last_time is not None and self.last_time < self._midnight

    @property
    def has_late_rows(self) -> bool:
        """Whether some rows, but not all, happened before the day they were received on."""
        return not self.is_late and (self.first_time is None or self.first_time < self._midnight)

    @property
    def _midnight(self) -> datetime:
        return datetime.combine(self.day, time(), UTC)


def live_data_files(handle: DeltaTable, table: Table) -> list[LiveDataFile]:
    """The live data files of a table by day, imported ones after the others."""
    actions = handle.get_add_actions(flatten=True)
    values = {name: actions.column(name).to_pylist() for name in actions.schema.names}
    nothing = [None] * actions.num_rows
    columns = (
        values["path"],
        values["partition.day"],
        values["num_records"],
        values["size_bytes"],
        values.get(f"min.{table.time_column}", nothing),
        values.get(f"max.{table.time_column}", nothing),
        values["modification_time"],
        [
            largest is not None and largest < 0
            for largest in values.get("max.kafka_partition", nothing)
        ],
        [
            None if first is None or last is None else (first, last)
            for first, last in zip(
                values.get(f"min.{table.subject_column}", nothing),
                values.get(f"max.{table.subject_column}", nothing),
                strict=True,
            )
        ],
    )
    return sorted(
        (LiveDataFile(*row) for row in zip(*columns, strict=True)),
        key=lambda file: (file.day, file.is_imported, file.path),
    )


def merge_plan(
    data_files: Sequence[LiveDataFile], now_ms: int, small_parts: int
) -> Iterator[tuple[date, Sequence[LiveDataFile]]]:
    """Which files to merge, by day; imported rows stay in files of their own.

    Mixed with others, their old times would widen the min/max statistics of the merged file.
    """
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    for (day, imported), group in groupby(
        data_files, key=lambda file: (file.day, file.is_imported)
    ):
        of_day = list(group)
        quiet = max(file.modified_ms for file in of_day) + QUIET_MS < now_ms
        if imported:
            merged = overlapping_history(of_day) if quiet else small_files(of_day, small_parts)
        else:
            merged = (
                closed_day_files(of_day)
                if day < today and quiet
                else open_day_files(of_day, small_parts)
            )
        if merged:
            yield day, merged


def small_files(of_day: Sequence[LiveDataFile], small_parts: int) -> Sequence[LiveDataFile]:
    """The small files of a day when there are many.

    The largest wait until smaller ones have enough rows: each merge would write all rows of the day
    again.
    """
    small = sorted((file for file in of_day if file.size < SMALL_FILE_BYTES), key=_rows)
    while small and small[-1].rows >= WAITING_ROWS:
        if small[-1].rows <= WAITING_SHARE * sum(map(_rows, small[:-1])):
            break
        small.pop()
    return small if len(small) >= small_parts else ()


def _rows(file: LiveDataFile) -> int:
    return file.rows


def overlapping_history(of_day: Sequence[LiveDataFile]) -> Sequence[LiveDataFile]:
    """Imported files of one day, when some of them cover the same times of a website."""
    ordered = sorted((file for file in of_day if file.subjects and file.first_time), key=_start_key)
    overlaps = any(map(_overlap, ordered, ordered[1:]))
    return of_day if overlaps else ()


def _start_key(file: LiveDataFile) -> tuple[str, str, datetime]:
    assert file.subjects is not None  # noqa: S101 - for the type checker
    assert file.first_time is not None  # noqa: S101
    return (*file.subjects, file.first_time)


def _overlap(earlier: LiveDataFile, later: LiveDataFile) -> bool:
    if earlier.subjects is None or later.subjects is None:
        return False
    if earlier.subjects[1] != later.subjects[0]:
        return earlier.subjects[1] > later.subjects[0]
    same_subject = earlier.subjects == later.subjects and earlier.subjects[0] == earlier.subjects[1]
    return (
        same_subject
        and earlier.last_time is not None
        and later.first_time is not None
        and (later.first_time < _slot(earlier.last_time))
    )


def _slot(time: datetime) -> datetime:
    """Where the slot of this time begins: rows of one slot may be in two files after each other."""
    seconds = SLOT_MINUTES * 60
    return datetime.fromtimestamp(time.timestamp() // seconds * seconds, UTC)


def open_day_files(of_day: Sequence[LiveDataFile], small_parts: int) -> Sequence[LiveDataFile]:
    """The files to merge of a day that still grows: the small ones when many, else the medium."""
    if small := small_files(of_day, small_parts):
        return small
    medium = [file for file in of_day if SMALL_FILE_BYTES <= file.size < FULL_FILE_BYTES]
    return medium if len(medium) >= MAX_MEDIUM_FILES else ()


def closed_day_files(of_day: Sequence[LiveDataFile]) -> Sequence[LiveDataFile]:
    """The files to merge of a past day: all that are not full; late rows go to their own file."""
    mergeable = [file for file in of_day if file.size < FULL_FILE_BYTES or file.has_late_rows]
    late = sum(file.is_late for file in mergeable)
    if any(file.has_late_rows for file in mergeable) or late > 1 or len(mergeable) - late > 1:
        return mergeable
    return ()
