"""The order of rows in merged files, as numbers to sort by.

A table's rows come by subject and time. Where they are of visitors, they come by visitor within
each half hour, because what a visitor's rows have in common then takes next to no bytes: a sixth of
a file. NULL is last.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from schemas.tables import Table

SLOT_MINUTES = 30
"""Time that rows may be sorted by: differences of two times within it fit into 32 bits."""
SLOT_US = SLOT_MINUTES * 60 * 1_000_000

HASH_COLUMNS = ("visitor_hash", "session_hash")

Numbers = NDArray[np.int64]
"""One number for each row."""

NULL_NUMBER = np.iinfo(np.int64).max


class RowOrder(Struct, frozen=True):
    """The columns that rows of a table are sorted by."""

    subject: str
    """A string."""
    time: str
    key: Sequence[str]
    """What follows; with it, no two rows are equal."""
    is_by_visitor: bool
    """Whether visitor and session come before the key, and the time counts by its half hour."""

    @property
    def bound_columns(self) -> Sequence[str]:
        """The columns of `bound_numbers`."""
        return (self.subject, self.time, *(HASH_COLUMNS[:1] if self.is_by_visitor else ()))

    def bound_numbers(self, rows: pa.Table, subjects: pa.Array) -> list[Numbers]:
        """The first numbers to sort by, two or three; `subjects` are those of the rows, in order.

        Rows without a visitor come by time, before the others of their slot.
        """
        times = _numbers(rows[self.time])
        subject = _positions(rows[self.subject], subjects)
        if not self.is_by_visitor:
            return [subject, times]
        visitors = _numbers(rows[HASH_COLUMNS[0]])
        visitors = np.where(visitors == NULL_NUMBER, times // 1_000, visitors)
        return [subject, times // SLOT_US, visitors]

    def places(self, rows: pa.Table, subjects: pa.Array) -> Numbers:
        """The number of the row that comes first, of the second, and so on."""
        columns = (*(HASH_COLUMNS[1:] if self.is_by_visitor else ()), *self.key)
        numbers = [*self.bound_numbers(rows, subjects), *(_numbers(rows[c]) for c in columns)]
        return np.lexsort(numbers[::-1]).astype(np.int64)


def row_order(table: Table) -> RowOrder:
    """How merged files of this table are sorted."""
    subject, time, *key = table.sort_order
    return RowOrder(subject, time, key, all(table.column(name) for name in HASH_COLUMNS))


def _numbers(column: pa.ChunkedArray) -> Numbers:
    """Numbers in the order of the values."""
    values = column.combine_chunks()
    if pa.types.is_dictionary(values.type):
        ranks = pc.rank(values.dictionary, tiebreaker="min").cast(pa.int64())
        return _filled(ranks.take(values.indices))
    return _filled(values.cast(pa.int64()))


def _positions(column: pa.ChunkedArray, subjects: pa.Array) -> Numbers:
    values = column.combine_chunks()
    return _filled(pc.index_in(values.dictionary, subjects).cast(pa.int64()).take(values.indices))


def _filled(values: pa.Array) -> Numbers:
    numbers: Numbers = values.fill_null(NULL_NUMBER).to_numpy(zero_copy_only=False)
    return numbers
