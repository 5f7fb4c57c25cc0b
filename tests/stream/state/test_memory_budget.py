"""Memory is shared fairly: who has little keeps it all."""

import pytest

from stream.state.memory_budget import max_min_share


@pytest.mark.parametrize(
    ("sizes", "room", "share"),
    [
        ([1, 2, 10], 9, 6),  # 1 and 2 stay, and leave 6 of the 9
        ([5, 5, 5], 9, 3),
        ([1, 2], 9, 2),  # there is room for all
        ([100], 9, 9),
        ([], 9, 0),
    ],
)
def test_who_has_most_gives_up_what_is_too_much(
    sizes: list[int], memory_budget: int, share: int
) -> None:
    assert max_min_share(sizes, memory_budget) == share
    assert sum(min(size, share) for size in sizes) <= memory_budget
