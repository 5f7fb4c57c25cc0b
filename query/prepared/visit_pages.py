"""Entry and exit pages from parts: sessions by a page of their visit, and the visitors of these."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.engine.engine import Row
from query.prepared.breakdown import groups_of, shares
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import SESSION_COLUMN
from query.prepared.part_tables import OF_LAST_VIEW, QUARTER_MS, SESSIONS, VISITS
from query.prepared.quarters import Quarters, whole_range
from query.prepared.visit_index import first_of_each
from query.request.buckets import Granularity
from query.request.time_range import TimeRange

EDGE_COLUMNS = (
    "views",
    "session_key",
    "visitor",
    "quarter",
    "start_ms",
    "span_ms",
    "before_views_ms",
    "after_views_ms",
)


class VisitPages(Struct, frozen=True):
    """Sessions by entry or exit page, and the visitors of their first or last page views."""

    fact: str
    tables: Sequence[str] = (SESSIONS.name,)
    visit_tables: Sequence[str] = (VISITS.name,)

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> Quarters | None:  # noqa: ARG002
        return whole_range(time_range)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:  # noqa: ARG002
        sessions = joined.columns(SESSIONS.name, *EDGE_COLUMNS)
        chosen = edge_rows(
            sessions, joined.count(SESSION_COLUMN), is_last=self.fact in OF_LAST_VIEW
        )
        facts = joined.visit_facts([self.fact])
        if chosen is None or facts is None:
            return None
        [(numbers, texts)] = facts
        chosen = chosen[numbers[chosen] != NO_TEXT]
        visitors = sessions["visitor"][chosen]
        once = np.ones(len(chosen), np.int64)
        return shares(groups_of(joined, [(numbers[chosen], texts)], once, visitors))


def edge_rows(sessions: Mapping[str, Numbers], count: int, *, is_last: bool) -> Numbers | None:
    """The positions of the rows with the first or the last page view of each of `count` sessions.

    None when two visitors of a session have it at the same time.
    """
    viewed = np.flatnonzero(sessions["views"] > 0)
    keys, visitors, quarter, start, span, before, after = (
        sessions[name][viewed] for name in EDGE_COLUMNS[1:]
    )
    start = quarter.astype(np.int64) * QUARTER_MS + start
    times = -(start + span - after) if is_last else start + before
    first = first_of_each(keys, times, visitors, count)
    return None if first is None else viewed[first[first < len(viewed)]]
