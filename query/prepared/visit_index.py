"""Visits from parts: the first page view of each, whichever part has it.

Parts have a row for each visit and UTC day; the row of the first page view has the visit's facts.
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.part_tables import QUARTER_MS


class VisitIndex(Struct, frozen=True, eq=False):
    """Where the first page view of each visit is."""

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
            at = np.minimum(np.searchsorted(self.session_keys, session_keys), len(self.rows) - 1)
            is_visit = self.session_keys[at] == session_keys
            found[is_visit] = self.rows[at[is_visit]]
        return found


def index_visits(rows: Mapping[str, Numbers]) -> VisitIndex | None:
    """The index; None when two page views of a visit that may be its first have the same time."""
    keys = rows["session_key"]
    times = rows["quarter"].astype(np.int64) * QUARTER_MS + rows["start_ms"]
    order = np.lexsort((times, keys))
    ordered, times = keys[order], times[order]
    same = np.concatenate([[False], ordered[1:] == ordered[:-1]])[: len(keys)]
    after_first = same & np.concatenate([[False], ~same[:-1]])[: len(keys)]
    positions = np.flatnonzero(after_first)
    if (times[positions] == times[positions - 1]).any():
        return None
    return VisitIndex(ordered[~same], order[~same].astype(np.uint32), len(keys))
