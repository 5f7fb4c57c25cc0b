"""Breakdown from parts: page views and distinct visitors by a fact of the visit."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.engine.engine import Row
from query.prepared.breakdown import NO_GROUPS, GroupsIndex, count_groups, index_of, shares
from query.prepared.joined_parts import JoinedParts, NumberedTexts
from query.prepared.part import QUARTER_COLUMN, VISITOR_COLUMN
from query.prepared.part_tables import SESSIONLESS, SESSIONS, SOURCES, VISITS, label
from query.prepared.quarters import Quarters, whole_range
from query.prepared.visit_index import visits_are_told
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

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> Quarters | None:  # noqa: ARG002
        return whole_range(time_range)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:  # noqa: ARG002
        if visits_are_told(joined):
            index = joined.index(self, self._index)
            if index is not None and index.is_told:
                return shares(index.between(joined.first, joined.end))
        if (rows := self._grouped(joined)) is None:
            return None
        columns, views, visitors, _ = rows
        return shares(count_groups(joined, columns, views, visitors))

    def _index(self, whole: JoinedParts) -> GroupsIndex:
        rows = self._grouped(whole)
        return NO_GROUPS if rows is None else index_of(*rows)

    def _grouped(
        self, joined: JoinedParts
    ) -> tuple[Sequence[NumberedTexts], Numbers, Numbers, Numbers] | None:
        """The column, page views, visitors and quarters of the rows that have a group."""
        if (facts := joined.visit_facts(self.columns)) is None:
            return None
        names = [label(column) for column in self.columns]
        known: dict[str | None, int] = {None: NO_TEXT}
        numbers = np.concatenate(
            [
                self._numbers(facts, known),
                self._numbers([joined.text_numbers(SESSIONLESS.name, n) for n in names], known),
            ]
        )
        tables = [joined.columns(table, *COLUMNS) for table in self.tables]
        views, visitors, quarters = (
            np.concatenate([columns[name] for columns in tables]) for name in COLUMNS
        )
        kept = (views > 0) & (numbers != NO_TEXT) & (numbers != known.get(self.left_out, NO_TEXT))
        return [(numbers[kept], list(known))], views[kept], visitors[kept], quarters[kept]

    def _numbers(self, columns: Sequence[NumberedTexts], known: dict[str | None, int]) -> Numbers:
        """The number of the first value of each row; `known` numbers the texts."""
        numbers = np.zeros(len(columns[0][0]), np.int64)
        for own, texts in reversed(columns):
            numbered = [known.setdefault(text, len(known)) for text in texts]
            values = np.array(numbered, np.int64)[own]
            numbers = np.where(values == NO_TEXT, numbers, values)
        if self.otherwise is not None:
            numbers[numbers == NO_TEXT] = known.setdefault(self.otherwise, len(known))
        return numbers


def by_visit(
    *columns: str, otherwise: str | None = None, left_out: str | None = None
) -> VisitBreakdown:
    """The form of a breakdown by facts of the visit."""
    if unknown := set(columns) - {*SOURCES}:
        raise ValueError(f"parts have no {unknown}")
    return VisitBreakdown(columns, otherwise, left_out)
