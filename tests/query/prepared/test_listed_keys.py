"""Keys of lists: what may be among the first of an order, numbers by hash, bytes in memory."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from query.prepared.listed_keys import ListedKeys, ScoreTerm, first_of, score_bounds

SMALL = st.integers(0, 3)


def listed() -> ListedKeys:
    """Three keys, whose last instants are known between two numbers."""
    hashes, first, last = np.array([7, 3, 9]), np.array([10, 20, 30]), np.array([15, 29, 30])
    values = {"first_visit": (first, first), "last_visit": (first, last)}
    return ListedKeys(hashes, first, last, values)


def test_a_row_is_a_hash_with_the_least_first_and_the_greatest_last_instant() -> None:
    rows = listed()

    assert [*rows] == [(7, 10, 15), (3, 20, 29), (9, 30, 30)]
    assert rows[-1] == (9, 30, 30)
    assert rows[:2] == [(7, 10, 15), (3, 20, 29)]
    assert rows.rows(np.array([2, 0])) == [(9, 30, 30), (7, 10, 15)]


def test_arrays_that_several_fields_share_are_counted_once() -> None:
    assert listed().size == 3 * 3 * 8


def test_numbers_by_hash_are_those_of_the_keys_that_are_listed() -> None:
    rows = listed()

    assert rows.of_hashes([(9, 5), (8, 6), (7, 1)]).tolist() == [1, 0, 5]
    assert rows.of_hashes([]).tolist() == [0, 0, 0]


@given(
    st.lists(st.tuples(SMALL, SMALL, SMALL), max_size=12),
    st.tuples(st.booleans(), st.booleans()),
    st.integers(1, 5),
)
def test_all_that_may_be_among_the_first_are_found(
    rows: list[tuple[int, int, int]], ascending: tuple[bool, bool], wanted: int
) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    low, high = np.minimum(*columns[:2]), np.maximum(*columns[:2])
    orders = [((low, high), ascending[0]), ((columns[2], columns[2]), ascending[1])]

    found = set(first_of(orders, len(rows), wanted).tolist())

    def key(first: int, i: int) -> tuple[int, int]:
        own = int(columns[2][i])
        return (first if ascending[0] else -first), (own if ascending[1] else -own)

    for chosen in product(*zip(low.tolist(), high.tolist(), strict=True)) if len(rows) < 7 else ():
        in_order = sorted(range(len(rows)), key=lambda i: key(chosen[i], i))
        assert found >= set(in_order[:wanted])
    exact = [i for i in range(len(rows)) if low[i] == high[i]]
    if len(exact) == len(rows) > wanted:
        last = sorted(key(int(low[i]), i) for i in exact)[wanted - 1]
        assert found == {i for i in exact if key(int(low[i]), i) <= last}


def test_a_score_is_between_those_of_the_least_and_of_the_greatest_values() -> None:
    values = {"a": (np.array([1, 9]), np.array([2, 9])), "b": (np.array([250, 5]),) * 2}
    terms = (ScoreTerm(("a",), most=8, weight=3), ScoreTerm(("a", "b"), most=1, divisor=120))

    low, high = score_bounds(terms, values)

    assert (low.tolist(), high.tolist()) == ([4, 24], [7, 24])


def test_fields_that_are_told_apart_from_others_keep_their_values() -> None:
    told = np.array([3, 4], np.uint8)
    values = {"a": (told, told), "b": (np.array([0, 1]), np.array([5, 1]))}
    terms = (ScoreTerm(("a",), most=3), ScoreTerm(("a", "b"), most=99, weight=2))

    assert [each.tolist() for each in score_bounds(terms, values)] == [[9, 13], [19, 13]]
    assert [each.tolist() for each in score_bounds(terms[:1], values)] == [[3, 3], [3, 3]]
    assert told.tolist() == [3, 4]
