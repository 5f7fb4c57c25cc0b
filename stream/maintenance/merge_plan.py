"""Which parts of a day belong together in fewer files. Values in, values out."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from itertools import groupby

from deltalake import DeltaTable
from msgspec import Struct

from schemas.tables import Table

SMALL_BYTES = 16 * 1024 * 1024
FULL_BYTES = 128 * 1024 * 1024
MEDIUM_PARTS = 8
QUIET_MS = 5 * 60_000
"""A day that is over, and got no part for so long, is brought into its final form."""


class Piece(Struct, frozen=True):
    """One live part, as compaction sees it."""

    path: str
    day: date
    rows: int
    size: int
    first: datetime | None
    """Smallest `ts`; None when unknown."""
    last: datetime | None
    modified_ms: int
    imported: bool = False
    """Whether all rows are history, whose partitions are below 0."""
    subjects: tuple[str, str] | None = None
    """Smallest and largest subject; None when unknown."""

    @property
    def late(self) -> bool:
        """Whether all rows happened before the day they were received on."""
        return self.last is not None and self.last < self._midnight

    @property
    def mixed(self) -> bool:
        """Whether late rows lie among the others."""
        return not self.late and (self.first is None or self.first < self._midnight)

    @property
    def _midnight(self) -> datetime:
        return datetime.combine(self.day, time(), UTC)


def pieces(handle: DeltaTable, table: Table) -> list[Piece]:
    """The live parts of a table, by day, history after what came as it happened."""
    actions = handle.get_add_actions(flatten=True)
    values = {name: actions.column(name).to_pylist() for name in actions.schema.names}
    nothing = [None] * actions.num_rows
    columns = (
        values["path"],
        values["partition.day"],
        values["num_records"],
        values["size_bytes"],
        values.get(f"min.{table.time}", nothing),
        values.get(f"max.{table.time}", nothing),
        values["modification_time"],
        [most is not None and most < 0 for most in values.get("max.kafka_partition", nothing)],
        [
            None if first is None or last is None else (first, last)
            for first, last in zip(
                values.get(f"min.{table.subject}", nothing),
                values.get(f"max.{table.subject}", nothing),
                strict=True,
            )
        ],
    )
    return sorted(
        (Piece(*row) for row in zip(*columns, strict=True)),
        key=lambda p: (p.day, p.imported, p.path),
    )


def merges(
    found: Sequence[Piece], now_ms: int, small_parts: int
) -> Iterator[tuple[date, Sequence[Piece]]]:
    """What to join, day by day; history stays apart, so that its old times widen no other part."""
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    for (day, imported), group in groupby(found, key=lambda p: (p.day, p.imported)):
        of_day = list(group)
        quiet = max(piece.modified_ms for piece in of_day) + QUIET_MS < now_ms
        if imported:
            joined = settled(of_day) if quiet else many(of_day, small_parts)
        else:
            joined = final(of_day) if day < today and quiet else growing(of_day, small_parts)
        if joined:
            yield day, joined


def many(of_day: Sequence[Piece], small_parts: int) -> Sequence[Piece]:
    """The small parts of a day when they are many."""
    small = [piece for piece in of_day if piece.size < SMALL_BYTES]
    return small if len(small) >= small_parts else ()


def settled(of_day: Sequence[Piece]) -> Sequence[Piece]:
    """History that came on one day, when some of its parts cover the same times of a website."""
    ordered = sorted((p for p in of_day if p.subjects and p.first), key=_beginning)
    overlaps = any(map(_overlap, ordered, ordered[1:]))
    return of_day if overlaps else ()


def _beginning(piece: Piece) -> tuple[str, str, datetime]:
    assert piece.subjects is not None  # noqa: S101 - for the type checker
    assert piece.first is not None  # noqa: S101
    return (*piece.subjects, piece.first)


def _overlap(earlier: Piece, later: Piece) -> bool:
    if earlier.subjects is None or later.subjects is None:
        return False
    if earlier.subjects[1] != later.subjects[0]:
        return earlier.subjects[1] > later.subjects[0]
    alone = earlier.subjects == later.subjects and earlier.subjects[0] == earlier.subjects[1]
    return (
        alone
        and earlier.last is not None
        and later.first is not None
        and (later.first < earlier.last)
    )


def growing(of_day: Sequence[Piece], small_parts: int) -> Sequence[Piece]:
    """A day that still grows: its small parts when they are many, else the medium ones."""
    if small := many(of_day, small_parts):
        return small
    medium = [piece for piece in of_day if SMALL_BYTES <= piece.size < FULL_BYTES]
    return medium if len(medium) >= MEDIUM_PARTS else ()


def final(of_day: Sequence[Piece]) -> Sequence[Piece]:
    """A day that is over: everything that is not yet full, with the late rows apart."""
    rest = [piece for piece in of_day if piece.size < FULL_BYTES or piece.mixed]
    late = sum(piece.late for piece in rest)
    if any(piece.mixed for piece in rest) or late > 1 or len(rest) - late > 1:
        return rest
    return ()


def sizes(found: Sequence[Piece]) -> Mapping[str, int]:
    """How many parts there are, and how many of them are small."""
    return {"parts": len(found), "small": sum(piece.size < SMALL_BYTES for piece in found)}
