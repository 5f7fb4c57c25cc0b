"""Max-min fair shares: small sizes are kept whole, only the largest are cut."""

import pytest

from stream.state.memory_budget import max_min_share


@pytest.mark.parametrize(
    ("sizes", "limit", "share"),
    [
        ([1, 2, 10], 9, 6),  # 1 and 2 stay, and leave 6 of the 9
        ([5, 5, 5], 9, 3),
        ([1, 2], 9, 2),  # the limit suffices for all
        ([100], 9, 9),
        ([], 9, 0),
    ],
)
def test_only_the_largest_sizes_are_cut(sizes: list[int], limit: int, share: int) -> None:
    assert max_min_share(sizes, limit) == share
    assert sum(min(size, share) for size in sizes) <= limit
