"""Rows as columns of numbers; texts are numbered."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

if TYPE_CHECKING:
    import duckdb

Numbers = npt.NDArray[Any]
NO_TEXT = 0
"""The number of NULL; texts are numbered from 1."""
TEXT_TYPES = ("string", "large_string", "string_view")
"""Arrow types of texts."""


class ColumnRows(Struct, frozen=True, eq=False):
    """The rows of one SELECT of whole numbers, none of them NULL, and texts."""

    numbers: Mapping[str, Numbers]
    """Values by column; a column of texts has the texts' numbers."""
    texts: Mapping[str, Sequence[str]] = {}
    """The texts of a column, in the order of their numbers."""

    @property
    def count(self) -> int:
        """The number of rows."""
        return max((len(each) for each in self.numbers.values()), default=0)


def column_rows(cursor: "duckdb.DuckDBPyConnection") -> ColumnRows:
    """The rows of the executed statement."""
    rows: Any = cursor.to_arrow_table()
    numbers, texts = {}, {}
    for name in rows.column_names:
        column = rows.column(name).combine_chunks()
        if str(column.type) in TEXT_TYPES:
            encoded = column.dictionary_encode()
            codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            numbers[name] = codes.astype(np.int64) + 1
            texts[name] = encoded.dictionary.to_pylist()
        else:
            numbers[name] = column.to_numpy(zero_copy_only=False).astype(np.int64)
    return ColumnRows(numbers, texts)
