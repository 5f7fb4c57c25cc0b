"""Visits from parts: the first or the last page view of each, whichever part has it.

Parts have a row for each visit and UTC day; the row of that page view has the visit's facts.
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.part_tables import QUARTER_MS


class VisitIndex(Struct, frozen=True, eq=False):
    """Where the first or the last page view of each visit is."""

    session_keys: Numbers
    """In ascending order."""
    rows: Numbers
    """For each of them the position of its row."""
    row_count: int
    """Of all rows, of which there is one for each day of a visit."""

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.session_keys.nbytes + self.rows.nbytes

    def rows_of(self, session_keys: Numbers) -> Numbers:
        """The position of the row of each session; that after the last one without a page view."""
        found = np.full(len(session_keys), self.row_count, np.uint32)
        if len(self.rows):
            order = np.argsort(session_keys)  # a search in order stays within the cache of the CPU
            ordered = session_keys[order]
            at = np.minimum(np.searchsorted(self.session_keys, ordered), len(self.rows) - 1)
            is_visit = self.session_keys[at] == ordered
            found[order[is_visit]] = self.rows[at[is_visit]]
        return found


def index_visits(rows: Mapping[str, Numbers], is_last: bool = False) -> VisitIndex | None:
    """The index of first or last page views; None when rows of a visit tie for that."""
    keys = rows["session_key"]
    times = rows["quarter"].astype(np.int64) * QUARTER_MS + rows["start_ms"]
    if is_last:
        times = -(times + rows["span_ms"])
    chosen = first_of_each(keys, times, np.arange(len(keys)))
    if chosen is None:
        return None
    return VisitIndex(keys[chosen], chosen.astype(np.uint32), len(keys))


def first_of_each(keys: Numbers, times: Numbers, values: Numbers) -> Numbers | None:
    """The positions of the least time of each key, in the order of the keys.

    None when a key has different values at that time: which of them is first is not known here.
    """
    order = np.lexsort((times, keys))
    ordered, times, values = keys[order], times[order], values[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(keys)]
    first = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    if ((times == times[first]) & (values != values[first])).any():
        return None
    chosen: Numbers = order[is_first]
    return chosen
