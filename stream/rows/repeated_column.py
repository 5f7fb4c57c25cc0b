"""RepeatedColumn: a column as its values and, for each row, the number of its value.

Rows of a batch repeat most of their values: senders, pages, referrers. A step computes it
once for each value, and Arrow takes it as a dictionary, so that nothing is done for each row.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
"""Indexes of values, one for each row."""

TABLE_SIZE = 1 << 20
"""Combinations of values up to which those that occur are found in a table, not by sorting."""


class RepeatedColumn(Sequence[Any]):
    """A column that reads like a list; a value may be there more than once, or for no row."""

    __slots__ = ("numbers", "values")

    def __init__(self, values: Iterable[Any], numbers: Numbers) -> None:
        self.values = list(values)
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> "RepeatedColumn": ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return RepeatedColumn(self.values, self.numbers[index])
        return self.values[self.numbers[index]]

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.numbers.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def mapped(self, function: Callable[[Any], Any]) -> "RepeatedColumn":
        """The column of the function's results, computed once for each value."""
        return RepeatedColumn(map(function, self.values), self.numbers)

    def where(self, is_wanted: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """Whether each row has a wanted value."""
        return np.array([is_wanted(value) for value in self.values], np.bool_)[self.numbers]

    def reduced(self) -> "RepeatedColumn":
        """The column with each of its values once."""
        found = distinct(list(self.values))
        return RepeatedColumn(found.values, found.numbers[self.numbers])

    def array(self, arrow_type: pa.DataType) -> pa.Array:
        """The column in Arrow: strings as a dictionary without a value twice."""
        if self.values.count(None) == len(self.values):
            return pa.nulls(len(self), arrow_type)
        values, numbers = pa.array(self.values, arrow_type), pa.array(self.numbers)
        if not pa.types.is_string(arrow_type):
            return values.take(numbers)
        found = values.dictionary_encode()
        return pa.DictionaryArray.from_arrays(found.indices.take(numbers), found.dictionary)


def constant_column(value: Any, rows: int) -> RepeatedColumn:
    """A column with the same value in all rows."""
    return RepeatedColumn([value], np.zeros(rows, np.int32))


def mapped(function: Callable[[Any], Any], column: Sequence[Any]) -> Sequence[Any]:
    """The column of the function's results, computed once for each value where it is repeated."""
    if isinstance(column, RepeatedColumn):
        return column.mapped(function)
    return list(map(function, column))


def distinct(column: Sequence[Any]) -> RepeatedColumn:
    """A repeated column as it is, another one with each of its values once.

    Values are of one type, or None.
    """
    if isinstance(column, RepeatedColumn):
        return column
    if len(column) and column[0] is None and column.count(None) == len(column):
        return constant_column(None, len(column))
    places: defaultdict[Any, int] = defaultdict(count().__next__)
    numbers = np.fromiter(map(places.__getitem__, column), np.int32, len(column))
    return RepeatedColumn(places, numbers)


def distinct_strings(column: Sequence[Any]) -> RepeatedColumn:
    """The same of many strings, by Arrow, which looks at each string once."""
    if isinstance(column, RepeatedColumn) or column.count(None) == len(column):
        return distinct(column)
    try:
        found = pa.array(column, pa.string()).dictionary_encode()
    except (pa.ArrowException, TypeError, ValueError):  # a value that no column can have
        return distinct(column)
    values, indices = found.dictionary.to_pylist(), found.indices
    if indices.null_count:
        indices = indices.fill_null(len(values))
        values.append(None)
    return RepeatedColumn(values, indices.to_numpy())


def combined(*columns: Sequence[Any]) -> RepeatedColumn:
    """The column of tuples of the values in these columns, each tuple once."""
    first, *others = [distinct(column).reduced() for column in columns]
    tuples = first.mapped(lambda value: (value,))
    for column in others:
        keys = tuples.numbers.astype(np.int64) * len(column.values) + column.numbers
        found, numbers = _occurring(keys, len(tuples.values) * len(column.values))
        pairs = (divmod(key, len(column.values)) for key in found.tolist())
        values = [(*tuples.values[left], column.values[right]) for left, right in pairs]
        tuples = RepeatedColumn(values, numbers)
    return tuples


def _occurring(keys: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], Numbers]:
    """The keys that occur, and the number of each key among them; all are below `size`."""
    if size > TABLE_SIZE:
        found, inverse = np.unique(keys, return_inverse=True)
        return found, inverse.astype(np.int32)
    table = np.zeros(size, np.int32)
    table[keys] = 1
    found = np.flatnonzero(table)
    table[found] = np.arange(len(found), dtype=np.int32)
    return found, table[keys]
