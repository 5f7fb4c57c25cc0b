"""Sessions joined from their rows in all quarters and parts."""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import NEVER, least, sums
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.part_tables import QUARTER_MS, SECOND_PARTS
from query.standard.sql.definitions import BOUNCE_MS

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
    """One row for each session with a page view, from its rows in all quarters and parts."""
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
