"""Visits by their sources and pages: an index of groups, for any range."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.engine.engine import Row
from query.prepared.breakdown import (
    NO_GROUPS,
    GroupsIndex,
    NamedGroups,
    count_groups,
    index_of,
    shares,
)
from query.prepared.quarter_hours import QuarterHours, whole_range
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.rollup_tables import OF_LAST_VIEW, SESSIONLESS, SESSIONS, SOURCES, VISITS, label
from query.prepared.rollup_view import RollupView
from query.prepared.shared_ids import EncodedTexts, TextCodes, renumbered
from query.prepared.visits_index import (
    EDGE_COLUMNS,
    NO_VISIT_PAGES,
    SessionValues,
    VisitPageIndex,
    VisitText,
    edge_rows,
    first_texts,
    index_visit_pages,
    indexed_values,
    session_values,
    unprepared_sessions,
    visits_are_complete,
)
from query.request.buckets import Granularity
from query.request.time_range import TimeRange
from query.scope.visits import VISIT_PREFIX

COLUMNS = ("views", VISITOR_COLUMN, QUARTER_COLUMN)


class VisitBreakdown(Struct, frozen=True):
    """Page views and visitors by the first of some columns that has a value for the visit.

    A page view that belongs to no session has values of its own.
    """

    columns: tuple[str, ...]
    otherwise: str | None = None
    """The group of page views without a value; None to leave them out."""
    left_out: str | None = None
    """A group that is not in the result."""
    text_count: ClassVar[int] = 1

    @property
    def filter_fields(self) -> Mapping[str, int]:
        if len(self.columns) > 1 or self.otherwise is not None:
            return {}  # its texts are no facts of the visit
        [column] = self.columns
        return {column: 0, VISIT_PREFIX + column: 0}

    @property
    def tables(self) -> Sequence[str]:
        return [SESSIONS.name, SESSIONLESS.name]

    @property
    def visit_tables(self) -> Sequence[str]:
        return [VISITS.name]

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:  # noqa: ARG002
        return whole_range(time_range)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:  # noqa: ARG002
        if visits_are_complete(joined):
            index = joined.index(self, self._index)
            if index is not None and index.is_complete:
                groups = self._of_index(joined, index)
                return None if groups is None else shares(groups)
        texts = self._texts(joined)
        return None if texts is None else shares(self._counted(joined, texts))

    @property
    def _text(self) -> VisitText:
        return VisitText(self.columns, self.otherwise)

    def _index(self, whole: RollupView) -> GroupsIndex:
        texts = self._texts(whole)
        return NO_GROUPS if texts is None else index_of(*self._grouped(whole, texts))

    def _texts(self, joined: RollupView) -> EncodedTexts | None:
        """The text of the visit of each row with a session; None when it cannot be told."""
        facts = joined.visit_facts(self.columns)
        return None if facts is None else first_texts(facts, self.otherwise)

    def _of_index(self, joined: RollupView, index: GroupsIndex) -> NamedGroups | None:
        """The groups of the index, but for visitors whose rows are not as it has them."""
        groups = index.between(joined.first, joined.end)
        if (sessions := unprepared_sessions(joined)) is None:
            return groups
        flags = joined.unprepared_flags(self.tables, VISITOR_COLUMN)
        of_sessions = joined.of_ids(SESSION_COLUMN, sessions, with_rest=False)
        flags[of_sessions.columns(SESSIONS.name, VISITOR_COLUMN)[VISITOR_COLUMN]] = True
        rows = joined.of_ids(VISITOR_COLUMN, flags, with_rest=True)
        known = indexed_values(joined, self._text)
        anew = session_values(joined, self._text)
        if known is None or anew is None:
            return None
        groups = groups.plus(self._of_values(rows.stored_only(), known), -1)
        return groups.plus(self._of_values(rows, anew))

    def _of_values(self, joined: RollupView, values: SessionValues) -> NamedGroups:
        keys = joined.columns(SESSIONS.name, SESSION_COLUMN)[SESSION_COLUMN]
        return self._counted(joined, (values.numbers[keys], values.texts))

    def _counted(self, joined: RollupView, texts: EncodedTexts) -> NamedGroups:
        columns, views, visitors, _ = self._grouped(joined, texts)
        return count_groups(joined, columns, views, visitors)

    def _grouped(
        self, joined: RollupView, of_visits: EncodedTexts
    ) -> tuple[Sequence[EncodedTexts], Numbers, Numbers, Numbers]:
        """The column, page views, visitors and quarters of the rows that have a group."""
        own = [joined.text_numbers(SESSIONLESS.name, label(column)) for column in self.columns]
        numbers, texts = _together(of_visits, first_texts(own, self.otherwise))
        tables = [joined.columns(table, *COLUMNS) for table in self.tables]
        views, visitors, quarters = (
            np.concatenate([columns[name] for columns in tables]) for name in COLUMNS
        )
        kept = (views > 0) & (numbers != NO_TEXT)
        if self.left_out in texts:
            kept &= numbers != texts.index(self.left_out)
        return [(numbers[kept], texts)], views[kept], visitors[kept], quarters[kept]


def _together(one: EncodedTexts, other: EncodedTexts) -> EncodedTexts:
    """The texts of the rows of both."""
    known = TextCodes()
    return np.concatenate([renumbered(*each, known) for each in (one, other)]), known.texts


def by_visit(
    *columns: str, otherwise: str | None = None, left_out: str | None = None
) -> VisitBreakdown:
    """The form of a breakdown by facts of the visit."""
    if unknown := set(columns) - {*SOURCES}:
        raise ValueError(f"rollups have no {unknown}")
    return VisitBreakdown(columns, otherwise, left_out)


class VisitPages(Struct, frozen=True):
    """Sessions by entry or exit page, and the visitors of their first or last page views."""

    fact: str
    tables: Sequence[str] = (SESSIONS.name,)
    visit_tables: Sequence[str] = (VISITS.name,)
    text_count: ClassVar[int] = 1

    @property
    def filter_fields(self) -> Mapping[str, int]:
        return {VISIT_PREFIX + self.fact: 0}

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:  # noqa: ARG002
        return whole_range(time_range)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:  # noqa: ARG002
        joined = joined.whole_sessions
        if visits_are_complete(joined):
            index = joined.index(self, self._index)
            if index is not None and index.groups.is_complete:
                groups = index.between(joined, self.fact)
                return None if groups is None else shares(groups)
        if (edges := self._edges(joined)) is None:
            return None
        page, visitors, _ = edges
        return shares(count_groups(joined, [page], np.ones(len(visitors), np.int64), visitors))

    @property
    def _is_last(self) -> bool:
        return self.fact in OF_LAST_VIEW

    def _edges(self, joined: RollupView) -> tuple[EncodedTexts, Numbers, Numbers] | None:
        """The page of each session that has one, the visitor there, and the position of the row."""
        sessions = joined.columns(SESSIONS.name, *EDGE_COLUMNS)
        chosen = edge_rows(sessions, joined.count(SESSION_COLUMN), is_last=self._is_last)
        facts = joined.visit_facts([self.fact])
        if chosen is None or facts is None:
            return None
        [(numbers, texts)] = facts
        chosen = chosen[numbers[chosen] != NO_TEXT]
        return (numbers[chosen], texts), sessions[VISITOR_COLUMN][chosen], chosen

    def _index(self, whole: RollupView) -> VisitPageIndex:
        if (edges := self._edges(whole)) is None:
            return NO_VISIT_PAGES
        page, visitors, chosen = edges
        rows = whole.columns(SESSIONS.name, QUARTER_COLUMN, SESSION_COLUMN)
        return index_visit_pages(page, visitors, chosen, rows, whole.count(SESSION_COLUMN))
