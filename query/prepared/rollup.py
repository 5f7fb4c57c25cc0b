"""Rollup: pre-aggregated columns of one website and data file, or of several.

Its tables are columns of numbers, sorted by quarter-hour, then by visitor, in which order they
compress best. Visitors, sessions and texts are numbered within the rollup.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct

from query.engine.column_rows import ColumnRows, Numbers

QUARTER_COLUMN = "quarter"
START_COLUMN = "start_ms"
"""Of instants, since their quarter began."""
ARRAY_BYTES = 150
"""Of an array in memory, beside its numbers."""
VISITOR_COLUMN, SESSION_COLUMN = "visitor", "session_key"
"""Columns of hashes, which are positions in the tables of a rollup."""


class Columns(Struct, frozen=True, eq=False):
    """The columns of one table of a rollup."""

    quarters: Numbers
    """Distinct, in ascending order."""
    borders: Numbers
    """Where the rows of each begin, and where those of the last end."""
    numbers: Mapping[str, Numbers]
    """By further column; of a column of texts their numbers."""
    texts: Mapping[str, Sequence[str]] = {}
    """The texts of a column, in ascending order, which is that of their numbers."""

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        texts = sum(len(each) + 60 for values in self.texts.values() for each in values)
        arrays = (self.quarters, self.borders, *self.numbers.values())
        return texts + sum(ARRAY_BYTES + each.nbytes for each in arrays)

    def between(self, name: str, first: int, end: int) -> Numbers:
        """A column of the rows of the quarters from `first` to before `end`."""
        return self.of_bounds(name, *self.bounds(first, end))

    def bounds(self, first: int, end: int) -> tuple[int, int]:
        """Between which positions of `quarters` are those from `first` to before `end`."""
        low, high = np.searchsorted(self.quarters, (first, end)).tolist()
        return low, high

    def of_bounds(self, name: str, low: int, high: int) -> Numbers:
        """A column of the rows of the quarters between these positions."""
        if name == QUARTER_COLUMN:
            counts = np.diff(self.borders[low : high + 1])
            return np.repeat(self.quarters[low:high], counts)
        return self.numbers[name][self.borders[low] : self.borders[high]]

    @property
    def stored(self) -> Mapping[str, Numbers]:
        """All columns, as they are stored."""
        counts = np.diff(self.borders)
        return {QUARTER_COLUMN: np.repeat(self.quarters, counts), **self.numbers}


def by_quarter(stored: Mapping[str, Numbers], texts: Mapping[str, Sequence[str]]) -> Columns:
    """The columns of a table from those that are stored."""
    numbers = dict(stored)
    quarters = numbers.pop(QUARTER_COLUMN)
    is_first = np.concatenate([[True], quarters[1:] != quarters[:-1]])[: len(quarters)]
    starts = np.flatnonzero(is_first)
    return Columns(quarters[starts], np.append(starts, len(quarters)), numbers, texts)


def shifted(rollup: "Rollup", by: int, quarter_ms: int) -> "Rollup":
    """A rollup whose rows are in quarters so many later, at the same instants."""
    tables = {}
    for name, table in rollup.tables.items():
        numbers = dict(table.numbers)
        if START_COLUMN in numbers:
            numbers[START_COLUMN] = numbers[START_COLUMN].astype(np.int64) - by * quarter_ms
        quarters = table.quarters.astype(np.int64) + by
        tables[name] = Columns(quarters, table.borders, numbers, table.texts)
    return Rollup(rollup.hashes, tables)


class AnyRollup(Protocol):
    """A rollup in memory, or one that is read when a table is needed."""

    def table(self, name: str) -> Columns:
        """The columns of a table."""

    def may_have(self, first: int, end: int) -> bool:
        """Whether it may have rows of the quarters from `first` to before `end`."""


class Rollup(Struct, frozen=True, eq=False):
    """The tables of a rollup that were asked for."""

    hashes: Mapping[str, Numbers]
    """By column, of visitors and of sessions; what tables have are positions in them."""
    tables: Mapping[str, Columns]

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        hashes = sum(ARRAY_BYTES + each.nbytes for each in self.hashes.values())
        return hashes + sum(each.size for each in self.tables.values())

    def table(self, name: str) -> Columns:
        """The columns of a table."""
        return self.tables[name]

    def may_have(self, first: int, end: int) -> bool:  # noqa: ARG002
        """Whether it may have rows of these quarters: it is in memory, so that needs no answer."""
        return True


def make_rollup(tables: Mapping[str, ColumnRows]) -> Rollup:
    """The rollup from rows of SQL."""
    numbers = {name: dict(rows.numbers) for name, rows in tables.items()}
    hashes = {VISITOR_COLUMN: _numbered(numbers.values(), VISITOR_COLUMN)}
    texts = {name: _sorted_texts(numbers[name], rows.texts) for name, rows in tables.items()}
    for columns in numbers.values():
        order = _order(columns)
        columns.update({name: values[order] for name, values in columns.items()})
    hashes[SESSION_COLUMN] = _numbered(numbers.values(), SESSION_COLUMN, in_order_of_use=True)
    made = {name: by_quarter(_packed(numbers[name]), texts[name]) for name in tables}
    return Rollup(hashes, made)


def smallest(values: Numbers) -> Numbers:
    """The same whole numbers, none below 0, in as few bytes as they need.

    In eight they have a sign: joined with some that are below 0 they would be floating point ones.
    """
    of_bytes = np.min_scalar_type(int(values.max(initial=0)))
    return values.astype(np.int64 if of_bytes == np.uint64 else of_bytes)


def _numbered(
    tables: Iterable[dict[str, Numbers]], column: str, *, in_order_of_use: bool = False
) -> Numbers:
    """Put positions in place of the hashes of a column: the distinct hashes.

    In the order of their use positions compress best; otherwise hashes are in ascending order.
    """
    having = [columns for columns in tables if column in columns]
    everything = np.concatenate([np.empty(0, np.int64), *(each[column] for each in having)])
    hashes, first, positions = np.unique(everything, return_index=True, return_inverse=True)
    if in_order_of_use:
        order = np.argsort(first)
        positions = np.argsort(order)[positions]
        hashes = hashes[order]
    ends = np.cumsum([len(each[column]) for each in having], dtype=np.int64)
    for columns, own in zip(having, np.split(positions, ends[:-1]), strict=False):
        columns[column] = own
    return hashes


def _sorted_texts(
    numbers: dict[str, Numbers], texts: Mapping[str, Sequence[str]]
) -> Mapping[str, Sequence[str]]:
    """The texts in ascending order, which is that of their new numbers."""
    for name, values in texts.items():
        mapping = np.zeros(len(values) + 1, np.int64)
        mapping[_numbers_of(values)] = np.arange(1, len(values) + 1)
        numbers[name] = mapping[numbers[name]]
    return {name: sorted(values) for name, values in texts.items()}


def _numbers_of(texts: Sequence[str]) -> Sequence[int]:
    """The numbers of texts, which begin with 1, in the order of the texts."""
    return sorted(range(1, len(texts) + 1), key=lambda number: texts[number - 1])


def _order(numbers: Mapping[str, Numbers]) -> Numbers:
    """By quarter, visitor and session, then by all other columns.

    The same rows are the same rollup, in whatever order SQL gave them: what is made of a rollup has
    positions in it, and is kept longer than the rollup.
    """
    leading = (QUARTER_COLUMN, VISITOR_COLUMN, SESSION_COLUMN)
    first = [name for name in leading if name in numbers]
    names = [*first, *sorted({*numbers} - {*first})]
    return np.lexsort([numbers[name] for name in reversed(names)])


def _packed(columns: Mapping[str, Numbers]) -> Mapping[str, Numbers]:
    return {
        name: values if values.min(initial=0) < 0 else smallest(values)
        for name, values in columns.items()
    }
