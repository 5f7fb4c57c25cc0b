"""Sessions with their measures and durations, and those that the edge of a range cuts."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.prepared.groups_index import NEVER, least, sums
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.rollup_tables import QUARTER_MS, SECOND_PARTS
from query.standard.sql.definitions import BOUNCE_MS

BLOCK = 4_096
"""Sessions of a block."""


def block_edges(starts: Numbers, ends: Numbers) -> Numbers:
    """The first quarter of each block, and the last one, from those of each session."""
    begins = np.arange(0, len(starts), BLOCK)
    if not len(begins):
        return np.empty((2, 0), np.int64)
    edges = [np.minimum.reduceat(starts, begins), np.maximum.reduceat(ends, begins)]
    return np.array(edges, np.int64)


def crossing(starts: Numbers, ends: Numbers, edges: Numbers, quarter: int) -> Numbers:
    """The positions of sessions that have rows before and after this quarter begins."""
    found = [np.empty(0, np.intp)]
    for i in np.flatnonzero((edges[0] < quarter) & (edges[1] >= quarter)).tolist():
        own = slice(i * BLOCK, (i + 1) * BLOCK)
        at = np.flatnonzero((starts[own] < quarter) & (ends[own] >= quarter))
        found.append(at + own.start)
    return np.concatenate(found)


OF_SESSIONS = (
    QUARTER_COLUMN, VISITOR_COLUMN, SESSION_COLUMN, "views", "start_ms", "span_ms",
    "before_views_ms", "others", "visible",
)  # fmt: skip
UNTOLD = 2**32 - 1
"""In place of a visitor where page views of two are at the first millisecond."""


class Sessions(Struct, frozen=True, eq=False):
    """Sessions with a page view."""

    keys: Numbers
    quarters: Numbers
    """Of the first page view."""
    start_quarters: Numbers
    end_quarters: Numbers
    """Of the first and of the last row."""
    page_views: Numbers
    duration_ms: Numbers
    is_bounce: Numbers
    visitors: Numbers
    """The number of the visitor of the first page view, or UNTOLD."""

    def of(self, kept: Numbers | slice) -> "Sessions":
        """Some of them."""
        return Sessions(*(each[kept] for each in structs.astuple(self)))


def join_sessions(rows: Mapping[str, Numbers], session_count: int) -> Sessions:
    """One row for each session with a page view, from its rows in all quarters and rollups."""
    keys = rows[SESSION_COLUMN].astype(np.int64)
    quarters = rows[QUARTER_COLUMN].astype(np.int64)
    starts = quarters * QUARTER_MS + rows["start_ms"]
    viewed = rows["views"] > 0
    quarter = least(keys[viewed], quarters[viewed], session_count)
    kept = np.flatnonzero(quarter != NEVER)
    begin = least(keys, starts, session_count)[kept]
    end = -least(keys, -(starts + rows["span_ms"]), session_count)[kept]
    views, others, visible = (
        sums(keys, rows[name], session_count)[kept] for name in ("views", "others", "visible")
    )
    duration = np.maximum(end - begin, visible_ms(visible))
    bounce = (views == 1) & (others == 0) & (duration < BOUNCE_MS)
    ends = begin // QUARTER_MS, end // QUARTER_MS
    first_views = (starts + rows["before_views_ms"])[viewed]
    visitors = _first_visitors(
        keys[viewed], first_views, rows[VISITOR_COLUMN][viewed], session_count
    )
    return Sessions(kept, quarter[kept], *ends, views, duration, bounce, visitors[kept])


def _first_visitors(keys: Numbers, times: Numbers, visitors: Numbers, count: int) -> Numbers:
    """The visitor at the least time of each of `count` sessions, or UNTOLD."""
    at = np.flatnonzero(times == least(keys, times, count)[keys])
    first = np.zeros(count, np.uint32)
    first[keys[at]] = visitors[at]
    first[keys[at][first[keys[at]] != visitors[at]]] = UNTOLD
    return first


def visible_ms(visible: Numbers) -> Numbers:
    """Milliseconds, rounded half away from 0 as a CAST of a DECIMAL is."""
    each = SECOND_PARTS // 1000
    rounded: Numbers = np.sign(visible) * ((np.abs(visible) + each // 2) // each)
    return rounded


DURATION_BLOCK = 8_192
"""Sessions of a block."""
FEW = 3_000
"""Sessions that are partitioned in less time than bins are summed up."""
MOST_BINS = 2_048
CountsBefore: TypeAlias = Callable[[int], Numbers]
"""How many durations of each bin come before a position."""


class ChosenDurations(Struct, frozen=True, eq=False):
    """Durations of sessions: of some positions, and others."""

    of_positions: Numbers
    """The duration at each position, none below 0."""
    low: int
    high: int
    """Between which positions they are chosen."""
    without: Numbers
    """Positions between these that are left out, in order."""
    others: Numbers
    """Durations without a position."""

    @property
    def together(self) -> Numbers:
        """All of them, in no order."""
        own = self.of_positions[self.low : self.high]
        return np.concatenate([np.delete(own, self.without - self.low), self.others])


class OrderedDurations(Struct, frozen=True, eq=False):
    """An index of the durations of sessions by their positions."""

    edges: Numbers
    """A bin has the durations from its edge on, below the next edge; the first is 0."""
    bins: Numbers
    """The bin of each."""
    by_bin: Numbers
    """The sessions by bin, those of one bin in ascending order."""
    begins: Numbers
    """Where those of each bin begin, and where the last bin ends."""
    before: Numbers
    """How many of each bin come before each block."""

    @property
    def size(self) -> int:
        """Bytes in memory."""
        arrays = (self.edges, self.bins, self.by_bin, self.begins, self.before)
        return sum(each.nbytes for each in arrays)

    def at_ranks(
        self, chosen: ChosenDurations, ranks: Sequence[int], before: CountsBefore | None = None
    ) -> Sequence[int]:
        """The durations at some ranks of those chosen, from 0 on.

        `before` is `self.counts_before`, which the caller may remember for the next ones chosen.
        """
        if chosen.high - chosen.low <= FEW:
            found: list[int] = np.partition(chosen.together, ranks)[[*ranks]].tolist()
            return found
        counts_before = before or self.counts_before
        counts = counts_before(chosen.high) - counts_before(chosen.low)
        of_others, of_without = self._bins(chosen.others), self.bins[chosen.without]
        if len(of_others) or len(of_without):
            counts += self._counts(of_others) - self._counts(of_without)
        ends = counts.cumsum()
        of_ranks = ends.searchsorted(ranks, side="right").tolist()
        ordered = {}
        for i in {*of_ranks}:
            others, without = chosen.others[of_others == i], chosen.without[of_without == i]
            ordered[i] = self._ordered(i, chosen, others, without)
        return [
            int(ordered[i][rank - int(ends[i] - counts[i])])
            for i, rank in zip(of_ranks, ranks, strict=True)
        ]

    def _ordered(
        self, of_bin: int, chosen: ChosenDurations, others: Numbers, without: Numbers
    ) -> Numbers:
        """The durations of one bin in ascending order, with others and without some positions."""
        of_all = self.by_bin[self.begins[of_bin] : self.begins[of_bin + 1]]
        is_last = of_bin + 1 == len(self.edges)
        if not is_last and self.edges[of_bin + 1] == self.edges[of_bin] + 1:  # all are the same
            return np.broadcast_to(self.edges[of_bin], len(of_all) + len(others))
        ends = np.array([chosen.low, chosen.high], of_all.dtype)
        own = of_all[slice(*of_all.searchsorted(ends))]
        if len(without):
            own = own[~np.isin(own, without)]
        durations = chosen.of_positions[own]
        return np.sort(np.concatenate([durations, others]) if len(others) else durations)

    def _bins(self, durations: Numbers) -> Numbers:
        return bins_of(self.edges, durations) if len(durations) else durations

    def _counts(self, bins: Numbers) -> Numbers:
        return np.bincount(bins, minlength=len(self.edges))

    def counts_before(self, position: int) -> Numbers:
        """How many of each bin come before a position."""
        block = position // DURATION_BLOCK
        counts: Numbers = self.before[block] + self._counts(
            self.bins[block * DURATION_BLOCK : position]
        )
        return counts


def order_durations(durations: Numbers) -> OrderedDurations:
    """The index of durations, given in the order of positions."""
    edges = _edges(durations)
    bins = smallest(bins_of(edges, durations))
    by_bin = np.argsort(bins, kind="stable").astype(np.uint32)  # fast for few bytes
    counts = np.bincount(bins, minlength=len(edges))
    before = np.zeros((len(durations) // DURATION_BLOCK + 1, len(edges)), np.int64)
    for i in range(1, len(before)):
        own = bins[(i - 1) * DURATION_BLOCK : i * DURATION_BLOCK]
        before[i] = before[i - 1] + np.bincount(own, minlength=len(edges))
    begins = np.concatenate([[0], np.cumsum(counts)])
    return OrderedDurations(edges, bins, by_bin, begins, smallest(before))


def bins_of(edges: Numbers, durations: Numbers) -> Numbers:
    """The bin of each duration."""
    return np.searchsorted(edges, durations.astype(edges.dtype), side="right") - 1


def _edges(durations: Numbers) -> Numbers:
    """Where bins begin: at durations of evenly spaced ranks; frequent ones have their own."""
    step = max(1, len(durations) // MOST_BINS)
    ranked = np.sort(durations)[::step].astype(np.int64)
    frequent = ranked[1:][ranked[1:] == ranked[:-1]]
    return np.unique(np.concatenate([[0], ranked, frequent + 1]))
