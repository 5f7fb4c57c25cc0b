"""Rows of a result as columns: only those of a page become rows of Python."""

from collections.abc import Sequence

import numpy as np
import pytest

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.array_rows import PORTION, ArrayRows, LazyRows, first_positions


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


NAMES = np.array([3, 1, 2, 0, 5, 4])
SIZES = np.array([7, 7, 9, 7, 1, 9])
BY_SIZE = [2, 5, 3, 1, 0, 4]
"""Positions by size, the greatest first, then by name."""


def made(at: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(NAMES[at].tolist(), SIZES[at].tolist(), strict=True))


ROWS = ArrayRows(
    6,
    [lambda at: -SIZES[at], NAMES.__getitem__],
    made,
    {"size": (SIZES.__getitem__,), "name": (NAMES.__getitem__,)},
    size=96,
)


@pytest.mark.parametrize("start", range(7))
@pytest.mark.parametrize("stop", range(8))
def test_a_slice_is_that_of_all_rows(start: int, stop: int) -> None:
    everything = [made(np.array([i]))[0] for i in BY_SIZE]
    assert ROWS[start:stop] == everything[start:stop]
    assert [*ROWS] == everything
    assert len(ROWS) == 6


def test_one_row_and_steps() -> None:
    assert ROWS[0] == (2, 9)
    assert ROWS[-1] == (5, 1)
    assert ROWS[::2] == [ROWS[0], ROWS[2], ROWS[4]]
    assert ROWS[::-1] == [*ROWS][::-1]
    with pytest.raises(IndexError):
        ROWS[6]


def test_another_order_comes_before_the_own_one() -> None:
    assert [size for _, size in ROWS.page([("size", True)], 0, 6)] == [1, 7, 7, 7, 9, 9]
    assert [name for name, _ in ROWS.page([("size", True)], 1, 4)] == [0, 1, 3]
    assert [name for name, _ in ROWS.page([("name", False)], 0, 2)] == [5, 4]
    # small numbers without a sign are turned round, too
    small = ArrayRows(3, [np.arange(3).__getitem__], lambda at: [(i,) for i in at.tolist()],
                      {"n": (np.array([0, 2, 1], np.uint8).__getitem__,)}, 3)  # fmt: skip
    assert small.page([("n", False)], 0, 3) == [(1,), (2,), (0,)]


def test_rows_without_a_value_come_last_in_both_directions() -> None:
    values, absent = np.array([0.5, 0, 0.25]), np.array([False, True, False])
    rows = ArrayRows(3, [np.arange(3).__getitem__], lambda at: [(i,) for i in at.tolist()],
                     {"n": (values.__getitem__,)}, 3, {"n": absent.__getitem__})  # fmt: skip
    assert rows.page([("n", True)], 0, 3) == [(2,), (0,), (1,)]
    assert rows.page([("n", False)], 0, 3) == [(0,), (2,), (1,)]


def test_changed_rows_keep_their_orders() -> None:
    changed = ROWS.mapped(lambda row: (f"name {row[0]}", row[1]))
    assert changed[0] == ("name 2", 9)
    assert changed.page([("size", True)], 0, 1) == [("name 5", 1)]
    assert len(changed) == 6


def test_more_rows_than_are_made_at_once() -> None:
    count = 2 * PORTION + 3
    values = np.random.default_rng(1).permutation(count)
    rows = ArrayRows(
        count, [values.__getitem__], lambda at: [(i,) for i in values[at].tolist()], {}, 0
    )
    assert [*rows] == [(i,) for i in range(count)]


def test_first_positions_are_those_of_a_sort() -> None:
    random = np.random.default_rng(2)
    columns = [random.integers(0, 4, 300), random.integers(0, 9, 300), random.permutation(300)]
    order = np.lexsort(columns[::-1]).tolist()
    keys = [column.__getitem__ for column in columns]
    for wanted in (0, 1, 2, 17, 299, 300):
        assert first_positions(300, keys, wanted).tolist() == order[:wanted]
