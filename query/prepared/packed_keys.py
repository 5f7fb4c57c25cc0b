"""Packed keys: the values of several columns in one number of each row, from which they are read.

Where they have more bits than a number, the columns so far are replaced by the number of their
values among distinct ones.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import KEY_BITS


class PackedKeys(Struct, frozen=True, eq=False):
    """The key of each row: the values of columns, the last one in the lowest bits."""

    keys: Numbers
    bits: int
    """Of the greatest key, at most."""
    widths: Sequence[int] = ()
    """Bits of each column."""
    replaced: "PackedKeys | None" = None
    """The distinct keys of columns before these, whose position is in the bits above."""

    def plus(self, column: Numbers) -> "PackedKeys":
        """With a further column of numbers from 0 to below 2**32, of fewer than 2**31 rows."""
        width = int(column.max(initial=0)).bit_length()
        own = self.within(KEY_BITS - width)
        keys = own.keys << width | column
        return PackedKeys(keys, own.bits + width, [*own.widths, width], own.replaced)

    def within(self, bits: int) -> "PackedKeys":
        """Keys of no more bits; so many that rows can be told apart always suffice."""
        if self.bits <= bits:
            return self
        found, numbers = number_distinct(self.keys)
        distinct = PackedKeys(found, self.bits, self.widths, self.replaced)
        return PackedKeys(numbers, len(found).bit_length(), (), distinct)

    def columns(self, keys: Numbers) -> list[Numbers]:
        """The values of each column, from some keys."""
        own: list[Numbers] = []
        for width in reversed(self.widths):
            own.insert(0, (keys & ((1 << width) - 1)).astype(np.uint32))
            keys = keys >> width
        if self.replaced is None:
            return own
        return [*self.replaced.columns(self.replaced.keys[keys]), *own]


def pack_columns(columns: Iterable[Numbers], row_count: int) -> PackedKeys:
    """The keys of rows."""
    packed = PackedKeys(np.zeros(row_count, np.int64), 0)
    for column in columns:
        packed = packed.plus(column)
    return packed


def number_distinct(keys: Numbers) -> tuple[Numbers, Numbers]:
    """The distinct keys, and for each row the position of its own: by a table of hashes.

    It takes a third of the time of sorting keys that do not have room for their positions.
    """
    import pyarrow as pa

    encoded = pa.array(keys).dictionary_encode()
    return encoded.dictionary.to_numpy(), encoded.indices.to_numpy().astype(np.int64)
