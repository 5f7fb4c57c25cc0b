"""Joins the parts of a query; what is joined stays in memory for the next one of the same parts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.byte_cache import ByteCache
from query.prepared.forms import PreparedForm
from query.prepared.joined_parts import JoinedParts, JoinedVisits
from query.prepared.numbering import ColumnNumbers, HashesOf, known_numbering
from query.prepared.part import SESSION_COLUMN, VISITOR_COLUMN, Part
from query.prepared.part_folder import PartKey
from query.prepared.part_reader import Reading
from query.prepared.part_tables import QUARTER_MS, SESSIONS, VISITS
from query.prepared.quarters import Quarters
from query.prepared.visit_index import VISIT_COLUMNS, index_visits


class ReadParts(Struct, frozen=True):
    """The parts of a reading: those of data files, then that of the other rows if there are any."""

    reading: Reading
    parts: Sequence[Part]

    @property
    def numbered(self) -> Collection[str]:
        """The columns of visitors and sessions."""
        tables = self.parts[0].tables.values()
        return {VISITOR_COLUMN, SESSION_COLUMN} & {name for c in tables for name in c.numbers}

    def further(self, column: str) -> Sequence[Numbers]:
        """The hashes of the other rows."""
        return [part.hashes[column] for part in self.parts[len(self.reading.prepared) :]]

    def numbers(
        self, stored: Mapping[PartKey, Numbers], further: Iterator[Numbers]
    ) -> Sequence[Numbers]:
        """For each part the numbers of its hashes; those of the other rows are the next further."""
        rest = len(self.parts) - len(self.reading.prepared)
        return [*(stored[key] for key in self.reading.prepared), *islice(further, rest)]


class PartJoin(Struct, frozen=True):
    """The parts of one query, and those with the facts of its visits."""

    memory: ByteCache
    hashes: HashesOf
    rows_of: ReadParts
    visits_of: ReadParts | None

    def rows(self, form: PreparedForm, quarters: Quarters) -> Sequence[Row] | None:
        """The rows of a form; None when parts cannot tell them."""
        numbers = {column: self._numbers(column) for column in self.rows_of.numbered}
        of_rows = {column: each[0] for column, each in numbers.items()}
        joined = JoinedParts(self.rows_of.parts, of_rows, quarters.first, quarters.end)
        if self.visits_of is not None:
            joined.visits = self._visits(joined, self.visits_of, numbers[SESSION_COLUMN][1])
        return form.rows(joined, quarters)

    def _numbers(self, column: str) -> Sequence[ColumnNumbers]:
        """The numbers of a column, of the parts and of those with the facts of visits."""
        of = [self.rows_of]
        if self.visits_of is not None and column == SESSION_COLUMN:
            of.append(self.visits_of)
        keys = frozenset(key for each in of for key in each.reading.prepared)
        numbering = known_numbering(self.memory, column, keys, self.hashes)
        count, further = numbering.with_further([h for each in of for h in each.further(column)])
        rest = iter(further)
        return [ColumnNumbers(count, each.numbers(numbering.by_part, rest)) for each in of]

    def _visits(
        self, joined: JoinedParts, visits_of: ReadParts, numbers: ColumnNumbers
    ) -> JoinedVisits:
        """The facts of the visits."""
        time_range = visits_of.reading.scope.time_range
        first, end = time_range.start_ms // QUARTER_MS, time_range.end_ms // QUARTER_MS
        facts = JoinedParts(visits_of.parts, {SESSION_COLUMN: numbers}, first, end)
        return JoinedVisits(facts, partial(self._positions, joined, facts, visits_of.reading))

    def _positions(
        self, joined: JoinedParts, facts: JoinedParts, visits_of: Reading, is_last: bool
    ) -> Numbers | None:
        of = (self.rows_of.reading.key, visits_of.key)
        key = ("of_sessions", is_last, *of, joined.first, joined.end)
        positions: Numbers | None = self.memory.get(key)
        if positions is None:
            count = facts.count(SESSION_COLUMN)
            index = index_visits(facts.columns(VISITS.name, *VISIT_COLUMNS), count, is_last=is_last)
            if index is None:
                return None
            sessions = joined.columns(SESSIONS.name, SESSION_COLUMN)[SESSION_COLUMN]
            positions = index.astype(np.uint32)[sessions]
            self.memory.put(key, positions, positions.nbytes)
        return positions
