"""Joins the parts of a query; what is joined stays in memory for the next one of the same parts."""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.byte_cache import ByteCache
from query.prepared.forms import PreparedForm
from query.prepared.joined_parts import (
    JoinedParts,
    JoinedVisits,
    VisitorNumbers,
    join_without_visitors,
    number_visitors,
)
from query.prepared.part import Part
from query.prepared.part_reader import Reading
from query.prepared.part_tables import QUARTER_MS, SESSIONS, VISITS
from query.prepared.quarters import Quarters
from query.prepared.visit_index import VisitIndex, index_visits


class PartJoin(Struct, frozen=True):
    """The parts of one query, and those with the facts of its visits."""

    memory: ByteCache
    rows_of: Reading
    parts: Sequence[Part]
    visits_of: Reading | None
    visit_parts: Sequence[Part]

    def rows(self, form: PreparedForm, quarters: Quarters) -> Sequence[Row] | None:
        """The rows of a form; None when parts cannot tell them."""
        joined = JoinedParts(self.parts, self._visitors(), quarters.first, quarters.end)
        if self.visits_of is not None:
            joined.visits = self._visits(joined, self.visits_of)
        return form.rows(joined, quarters)

    def _visitors(self) -> VisitorNumbers:
        key = ("visitors", self.rows_of.key)
        visitors: VisitorNumbers | None = self.memory.get(key)
        if visitors is None:
            visitors = number_visitors(self.parts)
            self.memory.put(key, visitors, visitors.size)
        return visitors

    def _visits(self, joined: JoinedParts, visits_of: Reading) -> JoinedVisits:
        """The facts of the visits."""
        time_range = visits_of.scope.time_range
        first, end = time_range.start_ms // QUARTER_MS, time_range.end_ms // QUARTER_MS
        facts = join_without_visitors(self.visit_parts, first, end)
        return JoinedVisits(facts, partial(self._positions, joined, facts, visits_of))

    def _positions(
        self, joined: JoinedParts, facts: JoinedParts, visits_of: Reading, is_last: bool
    ) -> Numbers | None:
        key = ("of_sessions", is_last, self.rows_of.key, visits_of.key, joined.first, joined.end)
        positions: Numbers | None = self.memory.get(key)
        if positions is None:
            index = self._index(facts, visits_of, is_last)
            if index is None:
                return None
            positions = index.rows_of(joined.columns(SESSIONS.name)["session_key"])
            self.memory.put(key, positions, positions.nbytes)
        return positions

    def _index(self, facts: JoinedParts, visits_of: Reading, is_last: bool) -> VisitIndex | None:
        key = ("visits", is_last, visits_of.key, facts.first, facts.end)
        index: VisitIndex | None = self.memory.get(key)
        if index is None:
            index = index_visits(facts.columns(VISITS.name), is_last)
            if index is not None:
                self.memory.put(key, index, index.size)
        return index
