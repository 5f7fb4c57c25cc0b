"""Index of totals: rows, visitors and sessions of all stored parts, for any range of quarters."""

import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.prepared.group_index import index_groups
from query.prepared.group_numbers import sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.part_tables import SESSIONLESS, SESSIONS
from query.prepared.sessions import OF_SESSIONS, Sessions, join_sessions

TABLES = (SESSIONS.name, SESSIONLESS.name)
COUNTS = ("views", "row_count")


class TotalsIndex(Struct, frozen=True, eq=False):
    """Quarters are numbers from that of the first row."""

    first: int
    counts: Numbers
    """Page views of each quarter, and rows."""
    visitors: Numbers
    """An entry for each visitor and quarter, in ascending order: the quarter times `width`, plus
    one more than the quarter of the visitor's entry before, or 0."""
    width: int
    sessions: Sessions
    """By the quarter of their first page view."""

    @property
    def size(self) -> int:
        """Bytes in memory."""
        arrays = (*structs.astuple(self.sessions), self.counts, self.visitors)
        return sum(each.nbytes for each in arrays)

    def of_rows(self, first: int, buckets: Numbers, count: int) -> tuple[Numbers, Numbers, Numbers]:
        """Page views, rows and distinct visitors of buckets, given for each quarter in order."""
        quarters = np.arange(len(buckets)) + first - self.first
        begins = np.searchsorted(buckets, buckets) + first - self.first
        known = (quarters >= 0) & (quarters < len(self.counts[0]))
        of_bucket, quarters, begins = buckets[known], quarters[known], begins[known]
        views, rows = (sums(of_bucket, each[quarters], count) for each in self.counts)
        low, high = (
            np.searchsorted(self.visitors, self._entry(quarters * self.width + more))
            for more in (0, np.maximum(begins, 0) + 1)
        )
        return views, rows, sums(of_bucket, high - low, count)

    def _entry(self, numbers: Numbers) -> Numbers:
        """As entries are, so that a search does not copy them all."""
        return numbers.astype(self.visitors.dtype)

    def within(self, first: int, end: int) -> Sessions:
        """The sessions of which all rows are in these quarters."""
        first, end = max(first - self.first, 0), max(end - self.first, 0)
        low, high = np.searchsorted(self.sessions.quarters, (first, end))
        own = self.sessions.of(slice(low, high))
        kept = (own.start_quarters >= first) & (own.end_quarters < end)
        return self._absolute(own.of(kept))

    def crossing(self, quarter: int) -> Sessions:
        """The sessions that have rows before and after this quarter begins."""
        quarter = max(0, quarter - self.first)
        own = self.sessions
        kept = (own.start_quarters < quarter) & (own.end_quarters >= quarter)
        return self._absolute(own.of(np.flatnonzero(kept)))

    def _absolute(self, own: Sessions) -> Sessions:
        quarters = (own.quarters, own.start_quarters, own.end_quarters)
        of_view, of_start, of_end = (each.astype(np.int64) + self.first for each in quarters)
        return structs.replace(own, quarters=of_view, start_quarters=of_start, end_quarters=of_end)


def index_totals(whole: JoinedParts) -> TotalsIndex:
    """The index of all rows."""
    names = (QUARTER_COLUMN, VISITOR_COLUMN, *COUNTS)
    tables = [whole.columns(table, *names) for table in TABLES]
    rows = {name: np.concatenate([table[name] for table in tables]) for name in names}
    first = int(rows[QUARTER_COLUMN].min()) if len(rows[QUARTER_COLUMN]) else 0
    quarters = rows[QUARTER_COLUMN].astype(np.int64) - first
    count = int(quarters.max(initial=-1)) + 1
    groups = np.zeros(len(quarters), np.uint8)
    index = index_groups(groups, rows[VISITOR_COLUMN], quarters, groups)
    width = count + 1
    entries = (index.quarters.astype(np.int64) * width + index.previous)[index.previous < width]
    return TotalsIndex(
        first,
        np.array([sums(quarters, rows[name], count) for name in COUNTS]),
        np.sort(smallest(entries)),
        width,
        _by_quarter(whole, first),
    )


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
