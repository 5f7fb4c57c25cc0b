"""Entry and exit pages from parts: sessions by a page of their visit, and the visitors of these."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.engine.engine import Row
from query.prepared.breakdown import count_groups, shares
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.part_tables import OF_LAST_VIEW, SESSIONS, VISITS
from query.prepared.part_texts import NumberedTexts
from query.prepared.quarters import Quarters, whole_range
from query.prepared.visit_index import visits_are_told
from query.prepared.visit_page_index import (
    EDGE_COLUMNS,
    NO_VISIT_PAGES,
    VisitPageIndex,
    edge_rows,
    index_visit_pages,
)
from query.request.buckets import Granularity
from query.request.time_range import TimeRange
from query.scope.visits import VISIT_PREFIX


class VisitPages(Struct, frozen=True):
    """Sessions by entry or exit page, and the visitors of their first or last page views."""

    fact: str
    tables: Sequence[str] = (SESSIONS.name,)
    visit_tables: Sequence[str] = (VISITS.name,)
    text_count: ClassVar[int] = 1

    @property
    def filter_fields(self) -> Mapping[str, int]:
        return {VISIT_PREFIX + self.fact: 0}

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> Quarters | None:  # noqa: ARG002
        return whole_range(time_range)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:  # noqa: ARG002
        joined = joined.whole_sessions
        if visits_are_told(joined):
            index = joined.index(self, self._index)
            if index is not None and index.groups.is_told:
                groups = index.between(joined, self.fact)
                return None if groups is None else shares(groups)
        if (edges := self._edges(joined)) is None:
            return None
        page, visitors, _ = edges
        return shares(count_groups(joined, [page], np.ones(len(visitors), np.int64), visitors))

    @property
    def _is_last(self) -> bool:
        return self.fact in OF_LAST_VIEW

    def _edges(self, joined: JoinedParts) -> tuple[NumberedTexts, Numbers, Numbers] | None:
        """The page of each session that has one, the visitor there, and the position of the row."""
        sessions = joined.columns(SESSIONS.name, *EDGE_COLUMNS)
        chosen = edge_rows(sessions, joined.count(SESSION_COLUMN), is_last=self._is_last)
        facts = joined.visit_facts([self.fact])
        if chosen is None or facts is None:
            return None
        [(numbers, texts)] = facts
        chosen = chosen[numbers[chosen] != NO_TEXT]
        return (numbers[chosen], texts), sessions[VISITOR_COLUMN][chosen], chosen

    def _index(self, whole: JoinedParts) -> VisitPageIndex:
        if (edges := self._edges(whole)) is None:
            return NO_VISIT_PAGES
        page, visitors, chosen = edges
        rows = whole.columns(SESSIONS.name, QUARTER_COLUMN, SESSION_COLUMN)
        return index_visit_pages(page, visitors, chosen, rows, whole.count(SESSION_COLUMN))
