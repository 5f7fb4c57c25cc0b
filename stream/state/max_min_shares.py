"""Max-min fair shares: who has little keeps it, and who has most gives up what is too much."""

from collections.abc import Iterable


def max_min_share(sizes: Iterable[int], room: int) -> int:
    """How much each may have at most, so that all together have no more than there is room for."""
    rest = sorted(sizes)
    for index, size in enumerate(rest):
        share = room // (len(rest) - index)
        if size > share:
            return share
        room -= size
    return rest[-1] if rest else 0
