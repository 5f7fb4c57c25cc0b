"""Part: what the rows of one website in one data file, or in several, add up to.

Its tables are columns of numbers, sorted by quarter of an hour, then by visitor, in which order
they compress best. Visitors and texts are numbered within the part.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import ColumnRows, Numbers


class Columns(Struct, frozen=True, eq=False):
    """The rows of one table of a part."""

    numbers: Mapping[str, Numbers]
    """By column; of a column of texts their numbers."""
    texts: Mapping[str, Sequence[str]] = {}
    """The texts of a column, in ascending order, which is that of their numbers."""

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        texts = sum(len(each) + 60 for values in self.texts.values() for each in values)
        return texts + sum(each.nbytes for each in self.numbers.values())

    def between(self, first: int, end: int) -> Mapping[str, Numbers]:
        """The columns of the quarters from `first` to before `end`."""
        quarters = self.numbers["quarter"]
        low, high = np.searchsorted(quarters, (first, end))
        return {name: values[low:high] for name, values in self.numbers.items()}


class Part(Struct, frozen=True, eq=False):
    """The tables of a part that were asked for, and all visitors of these."""

    visitors: Numbers
    """Hashes in ascending order; `visitor` in the tables is a position in it."""
    tables: Mapping[str, Columns]

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return self.visitors.nbytes + sum(each.size for each in self.tables.values())


def make_part(tables: Mapping[str, ColumnRows]) -> Part:
    """The part from rows of SQL."""
    hashes = [each.numbers["visitor"] for each in tables.values() if "visitor" in each.numbers]
    visitors = np.unique(np.concatenate([np.empty(0, np.int64), *hashes]))
    return Part(visitors, {name: _columns(rows, visitors) for name, rows in tables.items()})


def smallest(values: Numbers) -> Numbers:
    """The same whole numbers, none below 0, in as few bytes as they need."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _columns(rows: ColumnRows, visitors: Numbers) -> Columns:
    """The columns, sorted, with visitors by number, in few bytes."""
    numbers, texts = dict(rows.numbers), {}
    if "visitor" in numbers:
        numbers["visitor"] = np.searchsorted(visitors, numbers["visitor"])
    for name, values in rows.texts.items():
        texts[name] = sorted(values)
        mapping = np.zeros(len(values) + 1, np.int64)
        mapping[_numbers_of(values)] = np.arange(1, len(values) + 1)
        numbers[name] = mapping[numbers[name]]
    order = _order(numbers, len(visitors))
    return Columns({name: _packed(name, each[order]) for name, each in numbers.items()}, texts)


def _numbers_of(texts: Sequence[str]) -> Sequence[int]:
    """The numbers of texts, which begin with 1, in the order of the texts."""
    return sorted(range(1, len(texts) + 1), key=lambda number: texts[number - 1])


def _order(numbers: Mapping[str, Numbers], visitors: int) -> Numbers:
    """By quarter, then by visitor."""
    if "visitor" not in numbers:
        return np.argsort(numbers["quarter"], kind="stable")
    return np.argsort(numbers["quarter"] * visitors + numbers["visitor"])


def _packed(name: str, values: Numbers) -> Numbers:
    return values if name == "session_key" or values.min(initial=0) < 0 else smallest(values)
