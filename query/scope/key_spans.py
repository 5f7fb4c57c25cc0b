"""Key spans: when the rows of the sessions or visitors of one page are, so that few files are read.

The sessions of a page may lie all over a month of data files, most of which have no row of them.
"""

from bisect import bisect_right
from collections.abc import Iterable

from msgspec import Struct


class KeySpans(Struct, frozen=True):
    """The spans of all keys, in order and without overlap; instants are Unix milliseconds."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    """The last instant of each."""
    first: int
    end: int
    """Rows from `first` to before `end` are in spans; earlier and later ones may be anywhere."""

    def may_have_rows(self, low: int, high: int) -> bool:
        """Whether rows of the keys may be from `low` up to `high`."""
        if low < self.first or high >= self.end:
            return True
        at = bisect_right(self.starts, high)
        return at > 0 and self.ends[at - 1] >= low


def key_spans(spans: Iterable[tuple[int, int]], first: int, end: int) -> KeySpans:
    """The spans from the first to the last instant of each key."""
    starts: list[int] = []
    ends: list[int] = []
    for start, last in sorted(spans):
        if ends and start <= ends[-1] + 1:
            ends[-1] = max(ends[-1], last)
        else:
            starts.append(start)
            ends.append(last)
    return KeySpans(tuple(starts), tuple(ends), first, end)
