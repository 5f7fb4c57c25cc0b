"""Sessions that go on after a time, held against a look at each of them."""

import numpy as np
import pytest

from query.prepared.crossing_sessions import BLOCK, block_edges, crossing


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
