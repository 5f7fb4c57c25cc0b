"""Distinct visitors of buckets, held against sets of them."""

from random import Random

import numpy as np
import pytest

from query.prepared import distinct_visitors_index
from query.prepared.distinct_visitors_index import QUARTERS_A_DAY, VisitorsIndex, index_visitors
from query.prepared.shared_ids import WITHOUT

FIRST = 20_000 * QUARTERS_A_DAY + 17
COUNT = 9 * QUARTERS_A_DAY + 5
ROWS = 4_000


def some_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(seed)
    return chance.integers(0, COUNT, ROWS), chance.integers(0, 300, ROWS)


def expected(
    quarters: np.ndarray, visitors: np.ndarray, first: int, buckets: np.ndarray, count: int
) -> list[int]:
    """Of each bucket the visitors in its quarters."""
    of_buckets: list[set[int]] = [set() for _ in range(count)]
    for quarter, visitor in zip((quarters + FIRST).tolist(), visitors.tolist(), strict=True):
        if visitor != WITHOUT and first <= quarter < first + len(buckets):
            of_buckets[buckets[quarter - first]].add(visitor)
    return [len(each) for each in of_buckets]


def of_seed(seed: int, *, whole_days: bool) -> tuple[int, np.ndarray, int]:
    """The first quarter, the bucket of each quarter from it on, and their number."""
    chance = Random(seed)
    unit = QUARTERS_A_DAY if whole_days else 1
    first = chance.randrange(FIRST // unit - 300 // unit - 1, (FIRST + COUNT) // unit + 2) * unit
    lengths = [chance.randrange(1, 1 + 300 // unit) * unit for _ in range(chance.randrange(1, 9))]
    return first, np.repeat(np.arange(len(lengths)), lengths), len(lengths)


@pytest.mark.parametrize("whole_days", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_visitors_of_buckets(seed: int, whole_days: bool) -> None:
    quarters, visitors = some_rows(seed)
    index = index_visitors(FIRST, COUNT, quarters, visitors)
    first, buckets, count = of_seed(seed, whole_days=whole_days)

    found = index.distinct(first, buckets, count)

    assert found.tolist() == expected(quarters, visitors, first, buckets, count)


@pytest.mark.parametrize("seed", range(20))
def test_a_table_of_days_and_a_search_give_the_same(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rows = some_rows(seed)
    first, buckets, count = of_seed(seed, whole_days=True)
    by_table = index_visitors(FIRST, COUNT, *rows)
    monkeypatch.setattr(distinct_visitors_index, "MOST_DAYS", 9)
    by_search = index_visitors(FIRST, COUNT, *rows)

    assert len(by_table.of_days) == 10
    assert not len(by_search.of_days)
    same = by_search.distinct(first, buckets, count)
    assert by_table.distinct(first, buckets, count).tolist() == same.tolist()


def test_no_rows_have_no_visitors() -> None:
    index: VisitorsIndex = index_visitors(0, 0, *[np.zeros(0, np.int64)] * 2)

    assert index.distinct(QUARTERS_A_DAY, np.zeros(QUARTERS_A_DAY, np.int64), 1).tolist() == [0]
