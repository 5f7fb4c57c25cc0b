"""Key spans: when the rows of the sessions or visitors of one page are, so that few rows are read.

The sessions of a page may lie all over a month of data files, most of which have no row of them.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from msgspec import Struct

MOST_NAMED = 32
"""Spans that a condition names; those with the least time between them are named as one."""
MOST_COVERED = 0.25
"""Share of a time range that spans may cover: with more, their condition leaves out little."""


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

    def condition(self, start: int, end: int) -> tuple[str, Mapping[str, int]]:
        """That a row from `start` to before `end` may be one of the keys, with values in Unix ms.

        Scans skip what does not meet it before they read further columns. It has no text where it
        would leave out little.
        """
        named = self._named()
        covered = sum(last + 1 - first for first, last in named)
        if not named or covered > MOST_COVERED * (end - start):
            return "", {}
        count = 1 << (len(named) - 1).bit_length()  # few shapes of a statement
        named += named[-1:] * (count - len(named))
        terms = [f"(ts >= $span_{i} AND ts <= $span_{i}_last)" for i in range(count)]
        values = {f"span_{i}": first for i, (first, _) in enumerate(named)}
        values |= {f"span_{i}_last": last for i, (_, last) in enumerate(named)}
        if start < self.first:
            terms.append("ts < $spans_first")
            values["spans_first"] = self.first
        if end > self.end:
            terms.append("ts >= $spans_end")
            values["spans_end"] = self.end
        return f"({' OR '.join(terms)})", values

    def _named(self) -> list[tuple[int, int]]:
        """At most so many spans that have all of these in them."""
        if not self.starts:
            return []
        longest_pause_first = sorted(
            range(1, len(self.starts)), key=lambda i: self.ends[i - 1] - self.starts[i]
        )
        begins = [0, *sorted(longest_pause_first[: MOST_NAMED - 1])]
        lasts = [*(i - 1 for i in begins[1:]), -1]
        return [(self.starts[i], self.ends[j]) for i, j in zip(begins, lasts, strict=True)]


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
