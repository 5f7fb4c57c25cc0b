"""Index of totals: rows, visitors and sessions of all stored parts, for any range of quarters."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.prepared.crossing_sessions import block_edges, crossing
from query.prepared.group_numbers import sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.ordered_durations import OrderedDurations, order_durations
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.part_tables import SESSIONLESS, SESSIONS
from query.prepared.sessions import OF_SESSIONS, Sessions, join_sessions
from query.prepared.visitor_entries import VisitorEntries, index_visitors

TABLES = (SESSIONS.name, SESSIONLESS.name)
COUNTS = ("views", "row_count")
TOTALS_INDEX = "totals"
"""Its name. It is read between two quarters: others that it has rows of take no time."""


class TotalsIndex(Struct, frozen=True, eq=False):
    """Quarters are numbers from that of the first row."""

    first: int
    counts: Numbers
    """Page views of each quarter, and rows."""
    visitors: VisitorEntries
    sessions: Sessions
    """By the quarter of their first page view, which is their position."""
    blocks: Numbers
    """The first and the last quarter of each block of sessions."""
    sums_before: Numbers
    """What sessions with their first page view before each quarter add up to: their number,
    bounces, page views and durations."""
    durations: OrderedDurations

    @property
    def size(self) -> int:
        """Bytes in memory."""
        of_sessions = (*structs.astuple(self.sessions), self.blocks, self.sums_before)
        own: int = sum(each.nbytes for each in (self.counts, *of_sessions))
        return own + self.visitors.size + self.durations.size

    def of_rows(self, first: int, buckets: Numbers, count: int) -> tuple[Numbers, Numbers, Numbers]:
        """Page views, rows and distinct visitors of buckets, given for each quarter in order."""
        quarters = np.arange(len(buckets)) + first - self.first
        known = (quarters >= 0) & (quarters < len(self.counts[0]))
        of_bucket, quarters = buckets[known], quarters[known]
        views, rows = (sums(of_bucket, each[quarters], count) for each in self.counts)
        return views, rows, self.visitors.distinct(first, buckets, count)

    def session_sums(self, borders: Numbers) -> Numbers:
        """What the sessions between each two borders, which are quarters, add up to."""
        found: Numbers = np.diff(self.sums_before[:, self._quarters(borders)])
        return found

    def viewed_before(self, borders: Numbers) -> Numbers:
        """The number of sessions with their first page view before each border."""
        number: Numbers = self.sums_before[0, self._quarters(borders)]
        return number

    def viewed_first(self, first: int, end: int) -> tuple[int, int]:
        """Between which positions the sessions with their first page view in these quarters are."""
        low, high = self.viewed_before(np.array([first, end])).tolist()
        return low, high

    def crossing(self, quarter: int) -> Numbers:
        """The positions of sessions that have rows before and after this quarter begins."""
        starts, ends = self.sessions.start_quarters, self.sessions.end_quarters
        return crossing(starts, ends, self.blocks, quarter - self.first)

    def sessions_at(self, positions: Numbers | slice, names: Sequence[str]) -> Sequence[Numbers]:
        """Columns of the sessions at these positions; quarters as everywhere."""
        found: dict[str, Numbers] = {
            name: getattr(self.sessions, name)[positions] for name in names
        }
        return [
            own.astype(np.int64) + self.first if name.endswith("quarters") else own
            for name, own in found.items()
        ]

    def _quarters(self, borders: Numbers) -> Numbers:
        """Those of the index."""
        own: Numbers = np.clip(borders - self.first, 0, self.sums_before.shape[1] - 1)
        return own


def index_totals(whole: JoinedParts) -> TotalsIndex:
    """The index of all rows."""
    names = (QUARTER_COLUMN, VISITOR_COLUMN, *COUNTS)
    tables = [whole.columns(table, *names) for table in TABLES]
    rows = {name: np.concatenate([table[name] for table in tables]) for name in names}
    first = int(rows[QUARTER_COLUMN].min()) if len(rows[QUARTER_COLUMN]) else 0
    quarters = rows[QUARTER_COLUMN].astype(np.int64) - first
    count = int(quarters.max(initial=-1)) + 1
    sessions = _by_quarter(whole, first)
    return TotalsIndex(
        first,
        np.array([sums(quarters, rows[name], count) for name in COUNTS]),
        index_visitors(first, count, quarters, rows[VISITOR_COLUMN]),
        sessions,
        block_edges(sessions.start_quarters, sessions.end_quarters),
        _sums(sessions, count),
        order_durations(sessions.duration_ms),
    )


def _sums(sessions: Sessions, count: int) -> Numbers:
    """What sessions with their first page view before each of `count` quarters add up to."""
    of_quarters = (
        np.bincount(sessions.quarters, minlength=count),
        np.bincount(sessions.quarters[sessions.is_bounce], minlength=count),
        sums(sessions.quarters, sessions.page_views, count),
        sums(sessions.quarters, sessions.duration_ms, count),
    )
    return np.pad(np.cumsum(of_quarters, axis=1), ((0, 0), (1, 0)))


def _by_quarter(whole: JoinedParts, first: int) -> Sessions:
    rows = whole.columns(SESSIONS.name, *OF_SESSIONS)
    sessions = join_sessions(rows, whole.count(SESSION_COLUMN))
    order = np.argsort(smallest(sessions.quarters - first), kind="stable")  # fast for few bytes
    own = sessions.of(order)
    return Sessions(
        keys=own.keys.astype(np.uint32),
        quarters=smallest(own.quarters - first),
        start_quarters=smallest(own.start_quarters - first),
        end_quarters=smallest(own.end_quarters - first),
        page_views=smallest(own.page_views),
        duration_ms=smallest(own.duration_ms),
        is_bounce=own.is_bounce,
        visitors=own.visitors,
    )
