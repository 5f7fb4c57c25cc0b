"""Sessions with their measures and durations, and those that the edge of a range cuts."""

from random import Random

import numpy as np
import pytest

from query.prepared.sessions_index import (
    BLOCK,
    DURATION_BLOCK,
    MOST_BINS,
    ChosenDurations,
    OrderedDurations,
    block_edges,
    crossing,
    order_durations,
)


@pytest.mark.parametrize("count", [0, 1, BLOCK, BLOCK + 1, 5 * BLOCK + 7])
@pytest.mark.parametrize("longest", [1, 3, 400])
def test_they_are_those_with_rows_on_both_sides(count: int, longest: int) -> None:
    chance = np.random.default_rng(count + longest)
    starts = np.sort(chance.integers(0, 300, count)).astype(np.uint16)
    ends = (starts + chance.integers(0, longest, count)).astype(np.uint16)
    edges = block_edges(starts, ends)

    for quarter in (-5, 0, 1, 17, 150, 299, 300, 698, 5_000):
        expected = np.flatnonzero((starts < quarter) & (ends >= quarter))
        assert crossing(starts, ends, edges, quarter).tolist() == expected.tolist()


COUNT = 5 * DURATION_BLOCK + 77
FREQUENT = 1_800
RARE = 10_000_000


def some_durations() -> np.ndarray:
    """Many of 0 and of one other value, and some of any."""
    chance = np.random.default_rng(3)
    kinds = chance.integers(0, 4, COUNT)
    any_ = chance.integers(0, RARE, COUNT)
    return np.select([kinds == 0, kinds == 1], [0, FREQUENT], any_).astype(np.uint32)


DURATIONS = some_durations()
INDEX = order_durations(DURATIONS)


def at_every_rank(chosen: ChosenDurations, index: OrderedDurations, seed: int) -> None:
    """The first and the last, and some between them."""
    expected = np.sort(chosen.together)
    chance, last = Random(seed), len(expected) - 1
    ranks = sorted({0, last, *(chance.randrange(last + 1) for _ in range(20))})

    assert index.at_ranks(chosen, ranks) == expected[ranks].tolist()


@pytest.mark.parametrize("seed", range(20))
def test_durations_of_ranges_without_some_and_with_others(seed: int) -> None:
    chance = Random(seed)
    low = chance.choice((0, DURATION_BLOCK, chance.randrange(COUNT // 2)))
    high = chance.choice((COUNT, 3 * DURATION_BLOCK, chance.randrange(COUNT // 2 + 1, COUNT)))
    without = np.array(sorted(chance.sample(range(low, high), chance.choice((0, 1, 5_000)))), int)
    values = (0, 1, FREQUENT - 1, FREQUENT, FREQUENT + 1, RARE, 2**40)
    others = np.array([chance.choice(values) for _ in range(chance.choice((0, 3, 9_000)))], int)

    at_every_rank(ChosenDurations(DURATIONS, low, high, without, others), INDEX, seed)


def test_few_durations_are_as_exact() -> None:
    nothing = np.array([], int)

    at_every_rank(ChosenDurations(DURATIONS, 7, 8, nothing, nothing), INDEX, 1)
    at_every_rank(ChosenDurations(DURATIONS, 7, 7, nothing, np.array([5, 3])), INDEX, 2)


def test_equal_durations_have_a_bin_of_their_own() -> None:
    edges = INDEX.edges.tolist()
    largest = np.bincount(INDEX.bins[DURATIONS > FREQUENT + 1]).max()

    assert {0, 1, FREQUENT, FREQUENT + 1} <= {*edges}
    assert largest <= 3 * COUNT // MOST_BINS


def test_nothing_has_no_bins_with_sessions() -> None:
    index = order_durations(np.array([], np.uint8))

    assert index.begins.tolist() == [0, 0]
    assert index.size < 1_000
