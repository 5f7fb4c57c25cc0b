"""Keys of a long list from rollups, with the values by which the list is ordered.

A value may be known only between two numbers. The first keys of an order are found with all those
that may be among them.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.array_rows import LazyRows
from query.prepared.forms import RollupPlan

Bounds: TypeAlias = tuple[Numbers, Numbers]
"""The least and the greatest value that each key may have; the same where it is known."""


class ScoreTerm(Struct, frozen=True):
    """A part of a score: the sum of fields, divided, at most so much, and weighted."""

    fields: tuple[str, ...]
    most: int
    weight: int = 1
    divisor: int = 1


def score_bounds(terms: Sequence[ScoreTerm], values: Mapping[str, Bounds]) -> Bounds:
    """The least and the greatest sum of terms that grow with each field."""
    told = [term for term in terms if all(values[f][0] is values[f][1] for f in term.fields)]
    others = [term for term in terms if term not in told]
    added = np.asarray(sum(_of_term(term, values, 0) for term in told))
    low, high = (added + sum(_of_term(term, values, end) for term in others) for end in (0, 1))
    return np.asarray(low), np.asarray(high)


def _of_term(term: ScoreTerm, values: Mapping[str, Bounds], end: int) -> Numbers:
    first, *others = (values[field][end] for field in term.fields)
    weighted = first.astype(np.int64)
    for each in others:
        weighted += each
    if term.divisor != 1:
        weighted //= term.divisor
    np.minimum(weighted, term.most, out=weighted)
    weighted *= term.weight
    return weighted


class ListedKeys(LazyRows):
    """The sessions or visitors of a list: hash, first and last instant of each, further values."""

    def __init__(
        self, hashes: Numbers, first_ms: Numbers, last_ms: Numbers, values: Mapping[str, Bounds]
    ) -> None:
        """No row is before the first or after the last instant (Unix ms) of its key.

        `values` are by field of the rows of lists.
        """
        self.hashes = hashes
        self.values = values
        self._first_ms = first_ms
        self._last_ms = last_ms

    @property
    def size(self) -> int:
        """Bytes in memory."""
        arrays = {id(each): each for bounds in self.values.values() for each in bounds}
        arrays |= {id(each): each for each in (self.hashes, self._first_ms, self._last_ms)}
        return sum(each.nbytes for each in arrays.values())

    def __len__(self) -> int:
        return len(self.hashes)

    def rows(self, at: Numbers) -> Sequence[Row]:
        """Hash, first and last instant (Unix ms) of the keys at some positions."""
        columns = (self.hashes, self._first_ms, self._last_ms)
        return list(zip(*(each[at].tolist() for each in columns), strict=True))

    def of_hashes(self, counts: Sequence[Row]) -> Numbers:
        """A number for each key from pairs of hash and number; 0 for those without any."""
        found = np.zeros(len(self), np.int64)
        if not counts or not len(self):
            return found
        hashes, numbers = np.array(counts, np.int64).T
        order = np.argsort(self.hashes, kind="stable")
        at = order[np.minimum(np.searchsorted(self.hashes, hashes, sorter=order), len(order) - 1)]
        is_listed = self.hashes[at] == hashes
        found[at[is_listed]] = numbers[is_listed]
        return found


class KeyList(RollupPlan, Protocol):
    """The form whose rows are `ListedKeys`."""

    @property
    def fields(self) -> Sequence[str]:
        """The fields of the rows of lists that it can give values of."""

    def with_fields(self, fields: Sequence[str]) -> "KeyList":
        """The form that gives values of these fields, and perhaps of others."""


def first_of(orders: Sequence[tuple[Bounds, bool]], count: int, wanted: int) -> Numbers:
    """Positions of what may be among the first `wanted` of so many, in no order.

    Each order is of values that ascend, or not. What is sorted like the last one is among them.
    """
    pool, missing = np.arange(count), wanted
    kept, tied = np.zeros(count, np.bool_), np.ones(count, np.bool_)
    if wanted >= count:
        return pool
    for (low, high), ascending in orders:
        latest, earliest = (high, low) if ascending else (_reversed(low), _reversed(high))
        values = latest[pool]
        cut = np.partition(values, missing - 1)[missing - 1]
        missing -= int(np.count_nonzero(values < cut))
        pool = pool[values == cut]
        kept |= tied & (earliest < cut)
        tied &= earliest == cut
    return np.flatnonzero(kept | tied)


def _reversed(values: Numbers) -> Numbers:
    return -values.astype(np.int64)
