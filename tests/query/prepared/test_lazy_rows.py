"""Rows that are made when they are read."""

from collections.abc import Sequence

import pytest

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.lazy_rows import LazyRows


class Squares(LazyRows):
    """Five numbers with their squares."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def __len__(self) -> int:
        return 5

    def rows(self, at: Numbers) -> Sequence[Row]:
        self.made += at.tolist()
        return [(i, i * i) for i in at.tolist()]


EAGER = [(i, i * i) for i in range(5)]


@pytest.mark.parametrize(
    "key", [slice(1, 3), slice(3, 9), slice(9, 12), slice(None, None, -2), slice(-2, None)]
)
def test_a_slice_has_the_rows_of_a_list(key: slice) -> None:
    assert Squares()[key] == EAGER[key]


def test_single_rows_are_counted_from_either_end() -> None:
    rows = Squares()

    assert (rows[0], rows[-1]) == (EAGER[0], EAGER[-1])
    with pytest.raises(IndexError):
        rows[5]


def test_only_what_is_read_is_made() -> None:
    rows = Squares()

    assert rows[1:3] == EAGER[1:3]
    assert rows.made == [1, 2]
    assert [*rows] == EAGER
