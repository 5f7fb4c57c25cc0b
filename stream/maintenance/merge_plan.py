"""Which parts of a day belong together in fewer files. Values in, values out."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from itertools import groupby

from deltalake import DeltaTable
from msgspec import Struct

from schemas.tables import Table

SMALL_FILE_BYTES = 16 * 1024 * 1024
FULL_FILE_BYTES = 128 * 1024 * 1024
MAX_MEDIUM_FILES = 8
QUIET_MS = 5 * 60_000
"""A day that is over, and got no part for so long, is brought into its final form."""


class LiveDataFile(Struct, frozen=True):
    """One live part, as compaction sees it."""

    path: str
    day: date
    rows: int
    size: int
    first_time: datetime | None
    """Smallest `ts`; None when unknown."""
    last_time: datetime | None
    modified_ms: int
    is_imported: bool = False
    """Whether all rows are history, whose partitions are below 0."""
    subjects: tuple[str, str] | None = None
    """Smallest and largest subject; None when unknown."""

    @property
    def is_late(self) -> bool:
        """Whether all rows happened before the day they were received on."""
        return self.last_time is not None and self.last_time < self._midnight

    @property
    def has_late_rows(self) -> bool:
        """Whether late rows lie among the others."""
        return not self.is_late and (self.first_time is None or self.first_time < self._midnight)

    @property
    def _midnight(self) -> datetime:
        return datetime.combine(self.day, time(), UTC)


def live_data_files(handle: DeltaTable, table: Table) -> list[LiveDataFile]:
    """The live parts of a table, by day, history after what came as it happened."""
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
        [most is not None and most < 0 for most in values.get("max.kafka_partition", nothing)],
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
        key=lambda p: (p.day, p.is_imported, p.path),
    )


def merge_plan(
    found: Sequence[LiveDataFile], now_ms: int, small_parts: int
) -> Iterator[tuple[date, Sequence[LiveDataFile]]]:
    """What to join, day by day; history stays apart, so that its old times widen no other part."""
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    for (day, imported), group in groupby(found, key=lambda p: (p.day, p.is_imported)):
        of_day = list(group)
        quiet = max(piece.modified_ms for piece in of_day) + QUIET_MS < now_ms
        if imported:
            joined = overlapping_history(of_day) if quiet else small_files(of_day, small_parts)
        else:
            joined = (
                closed_day_files(of_day)
                if day < today and quiet
                else open_day_files(of_day, small_parts)
            )
        if joined:
            yield day, joined


def small_files(of_day: Sequence[LiveDataFile], small_parts: int) -> Sequence[LiveDataFile]:
    """The small parts of a day when they are many."""
    small = [piece for piece in of_day if piece.size < SMALL_FILE_BYTES]
    return small if len(small) >= small_parts else ()


def overlapping_history(of_day: Sequence[LiveDataFile]) -> Sequence[LiveDataFile]:
    """History that came on one day, when some of its parts cover the same times of a website."""
    ordered = sorted((p for p in of_day if p.subjects and p.first_time), key=_start_key)
    overlaps = any(map(_overlap, ordered, ordered[1:]))
    return of_day if overlaps else ()


def _start_key(piece: LiveDataFile) -> tuple[str, str, datetime]:
    assert piece.subjects is not None  # noqa: S101 - for the type checker
    assert piece.first_time is not None  # noqa: S101
    return (*piece.subjects, piece.first_time)


def _overlap(earlier: LiveDataFile, later: LiveDataFile) -> bool:
    if earlier.subjects is None or later.subjects is None:
        return False
    if earlier.subjects[1] != later.subjects[0]:
        return earlier.subjects[1] > later.subjects[0]
    alone = earlier.subjects == later.subjects and earlier.subjects[0] == earlier.subjects[1]
    return (
        alone
        and earlier.last_time is not None
        and later.first_time is not None
        and (later.first_time < earlier.last_time)
    )


def open_day_files(of_day: Sequence[LiveDataFile], small_parts: int) -> Sequence[LiveDataFile]:
    """A day that still grows: its small parts when they are many, else the medium ones."""
    if small := small_files(of_day, small_parts):
        return small
    medium = [piece for piece in of_day if SMALL_FILE_BYTES <= piece.size < FULL_FILE_BYTES]
    return medium if len(medium) >= MAX_MEDIUM_FILES else ()


def closed_day_files(of_day: Sequence[LiveDataFile]) -> Sequence[LiveDataFile]:
    """A day that is over: everything that is not yet full, with the late rows apart."""
    rest = [piece for piece in of_day if piece.size < FULL_FILE_BYTES or piece.has_late_rows]
    late = sum(piece.is_late for piece in rest)
    if any(piece.has_late_rows for piece in rest) or late > 1 or len(rest) - late > 1:
        return rest
    return ()


def file_counts(found: Sequence[LiveDataFile]) -> Mapping[str, int]:
    """How many parts there are, and how many of them are small."""
    return {"parts": len(found), "small": sum(piece.size < SMALL_FILE_BYTES for piece in found)}
