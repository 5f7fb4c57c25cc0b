"""Rows of a result as columns: only those of a page become rows of Python.

A list of a million paths takes some ten bytes a path so, and its first page is found without
sorting the others.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias, overload

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row


class LazyRows(Sequence[Row]):
    """The rows in their order."""

    @abstractmethod
    def rows(self, at: Numbers) -> Sequence[Row]:
        """The rows at some positions."""

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Row]: ...
    def __getitem__(self, key: int | slice) -> Row | Sequence[Row]:
        if isinstance(key, int):
            return self.rows(np.array([range(len(self))[key]]))[0]
        return self.rows(np.arange(len(self))[key])

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows(np.arange(len(self))))


Key: TypeAlias = Callable[[Numbers], Numbers]
"""The values by which rows at some positions are sorted, the least first."""


PORTION = 10_000
"""Rows that are made at once, where all are asked for."""


class ArrayRows(LazyRows):
    """The rows in the order of their query type."""

    def __init__(
        self,
        count: int,
        keys: Sequence[Key],
        make: Callable[[Numbers], Sequence[Row]],
        by_field: Mapping[str, Sequence[Key]],
        size: int,
        absent: Mapping[str, Key] = MappingProxyType({}),
    ) -> None:
        """`keys` are the own order, total; `make` gives the rows at some positions.

        `absent` tells by field which rows have no value: they come last in either direction.
        """
        self._count = count
        self._keys = keys
        self._make = make
        self._by_field = by_field
        self._absent = absent
        self.size = size
        """Bytes in memory, about."""

    def __len__(self) -> int:
        return self._count

    def rows(self, at: Numbers) -> Sequence[Row]:
        """The rows at some positions of their own order."""
        if not len(at):
            return []
        low = int(at.min())
        page = self.page((), low, int(at.max()) + 1)
        return [page[i] for i in (at - low).tolist()]

    def __iter__(self) -> Iterator[Row]:
        positions = first_positions(self._count, self._keys, self._count)
        for start in range(0, self._count, PORTION):
            yield from self._make(positions[start : start + PORTION])

    def mapped(self, change: Callable[[Row], Row]) -> "ArrayRows":
        """The same with a change to each row that is made; the orders stay."""

        def make(at: Numbers) -> Sequence[Row]:
            return [change(row) for row in self._make(at)]

        return ArrayRows(self._count, self._keys, make, self._by_field, self.size, self._absent)

    def page(self, orders: Sequence[tuple[str, bool]], start: int, stop: int) -> Sequence[Row]:
        """Some rows in another order: by fields, each ascending or not, then their own order."""
        asked: list[Key] = []
        for field, ascending in orders:
            asked += [self._absent[field]] if field in self._absent else []
            keys = self._by_field.get(field, ())
            asked += [key if ascending else descending(key) for key in keys]
        positions = first_positions(self._count, [*asked, *self._keys], min(stop, self._count))
        return self._make(positions[start:])


def descending(key: Key) -> Key:
    """The key by which the greatest values come first."""

    def values(positions: Numbers) -> Numbers:
        found = key(positions)
        return -(found if found.dtype.kind == "f" else found.astype(np.int64))

    return values


def first_positions(count: int, keys: Sequence[Key], wanted: int) -> Numbers:
    """The positions of the first `wanted` of so many rows, in their order."""
    pool = np.arange(count)
    sure = [pool[:0]]
    missing = wanted
    for key in keys:
        if len(pool) <= missing or not missing:
            break
        values = key(pool)
        cut = np.partition(values, missing - 1)[missing - 1]
        sure.append(pool[values < cut])
        missing -= len(sure[-1])
        pool = pool[values == cut]
    found = np.concatenate([*sure, pool[:missing] if len(pool) > missing else pool])
    order = np.lexsort([key(found) for key in reversed(keys)])
    return found[order]
