"""Part: what the rows of one website in one data file, or in several, add up to.

Its tables are columns of numbers, sorted by quarter of an hour, then by visitor, in which order
they compress best. Visitors and texts are numbered within the part.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, ColumnRows, Numbers


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
    columns = {name: _sorted(rows) for name, rows in tables.items()}
    hashes = [each.numbers["visitor"] for each in columns.values() if "visitor" in each.numbers]
    visitors = np.unique(np.concatenate([np.empty(0, np.int64), *hashes]))
    return Part(visitors, {name: _numbered(each, visitors) for name, each in columns.items()})


def smallest(values: Numbers) -> Numbers:
    """The same whole numbers, none below 0, in as few bytes as they need."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _sorted(rows: ColumnRows) -> Columns:
    by = [rows.numbers[name] for name in ("visitor", "quarter") if name in rows.numbers]
    order = np.lexsort(by)
    numbers = {name: each[order] for name, each in rows.numbers.items()}
    texts = {}
    for name, values in rows.texts.items():
        texts[name] = sorted(values)
        renumbered = {text: number for number, text in enumerate(texts[name], 1)}
        mapping = np.array([NO_TEXT, *(renumbered[text] for text in values)], np.int64)
        numbers[name] = mapping[numbers[name]]
    return Columns(numbers, texts)


def _numbered(columns: Columns, visitors: Numbers) -> Columns:
    """The columns with visitors by number, in few bytes."""
    numbers = dict(columns.numbers)
    if "visitor" in numbers:
        numbers["visitor"] = np.searchsorted(visitors, numbers["visitor"])
    return Columns({name: _packed(name, each) for name, each in numbers.items()}, columns.texts)


def _packed(name: str, values: Numbers) -> Numbers:
    return values if name == "session_key" or values.min(initial=0) < 0 else smallest(values)
