"""Ranked values beside those of sorted lists of Python."""

import random

import numpy as np
import pytest

from query.prepared.measured_groups import RankedValues, rank_values, sum_values


def ranked(*values: int) -> RankedValues:
    """The values of one group."""
    return rank_values(np.zeros(len(values), np.int64), np.array(values, np.int64), 1)


@pytest.mark.parametrize("spread", [3, 10**6, 2 * 10**17])
def test_neighbors_and_sums_of_every_group(spread: int) -> None:
    draw = random.Random(spread)
    groups = [draw.choice((0, 1, 3)) for _ in range(200)]
    values = [draw.randint(-spread, spread) for _ in groups]

    found = rank_values(np.array(groups), np.array(values), 4)

    own = [sorted(v for g, v in zip(groups, values, strict=True) if g == i) for i in range(4)]
    assert found.counts.tolist() == [len(each) for each in own]
    sums, counts = sum_values(np.array(groups), np.array(values), 4)
    assert [int(total) for total in sums] == [sum(each) for each in own]
    assert counts.tolist() == found.counts.tolist()
    for percent in (0, 1, 50, 75, 90, 95, 99, 100):
        low, high = (each.tolist() for each in found.neighbors(percent))
        for i, each in enumerate(own):
            place = (len(each) - 1) * percent
            expected = (each[place // 100], each[(place + 99) // 100]) if each else (0, 0)
            assert (low[i], high[i]) == expected, (percent, i)


def test_neighbors_of_few_values() -> None:
    assert [int(each[0]) for each in ranked(7).neighbors(99)] == [7, 7]
    assert [int(each[0]) for each in ranked(9, 5).neighbors(50)] == [5, 9]
    assert [int(each[0]) for each in ranked(9, 5, 6).neighbors(50)] == [6, 6]


def test_sums_beyond_64_bits_are_exact() -> None:
    for values in ([10**16] * 3_000, [-(10**16)] * 3_000, []):
        groups = np.zeros(len(values), np.int64)
        [total], [count] = sum_values(groups, np.array(values, np.int64), 1)
        assert (total, count) == (sum(values), len(values))
