"""Joined parts: the rows of one table of several parts between two quarters of an hour.

Visitors, sessions and texts are numbered within each part; here they have the same number in all.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.numbering import WITHOUT, ColumnNumbers
from query.prepared.part import VISITOR_COLUMN, Part
from query.prepared.part_tables import OF_LAST_VIEW, VISITS, label

NumberedTexts: TypeAlias = tuple[Numbers, Sequence[str | None]]
"""The number of each row's text, and the texts by number; 0 is NULL."""
MAX_FLAGS = 2**26
"""Bytes of a table of groups by visitors; beyond it pairs are sorted."""


class JoinedParts:
    """Parts, the visitors of all of them, and the quarters that are asked for."""

    def __init__(
        self,
        parts: Sequence[Part],
        numbers: Mapping[str, ColumnNumbers],
        first: int,
        end: int,
        visits: "JoinedVisits | None" = None,
    ) -> None:
        self._parts = parts
        self._numbers = numbers
        self.first, self.end = first, end
        self.visits = visits
        """Facts of the visits of the sessions, when they were asked for."""

    def columns(self, table: str, *names: str) -> Mapping[str, Numbers]:
        """Columns of the rows of a table."""
        return {name: self._column(table, name) for name in names}

    def _column(self, table: str, name: str) -> Numbers:
        of_parts = [p.tables[table].between(name, self.first, self.end) for p in self._parts]
        if name in self._numbers:
            numbers = self._numbers[name].by_part
            of_parts = [own[rows] for own, rows in zip(numbers, of_parts, strict=True)]
        return np.concatenate(of_parts)

    def count(self, column: str) -> int:
        """Numbers that a column of visitors or sessions may have."""
        return self._numbers[column].count

    def text_numbers(self, table: str, column: str) -> NumberedTexts:
        """A column of texts: their numbers in all parts, and the texts by these; 0 is NULL."""
        known: dict[str | None, int] = {None: NO_TEXT}
        of_parts = []
        for part in self._parts:
            columns = part.tables[table]
            codes = columns.between(column, self.first, self.end)
            texts = columns.texts[column]
            mapping = [known.setdefault(text, len(known)) for text in (None, *texts)]
            of_parts.append(np.array(mapping, np.int64)[codes])
        return np.concatenate(of_parts), list(known)

    def visit_facts(self, columns: Sequence[str]) -> Sequence[NumberedTexts] | None:
        """Facts of the visit of each row of sessions; None when they cannot be told."""
        facts = [self.visits.texts(column) for column in columns] if self.visits else []
        known = [fact for fact in facts if fact is not None]
        return known if len(known) == len(columns) else None

    def distinct(self, groups: Numbers, visitors: Numbers, count: int) -> Numbers:
        """Distinct visitors of each of `count` groups, from a group and a visitor of each row."""
        visitor_count = self.count(VISITOR_COLUMN)
        if count * visitor_count <= MAX_FLAGS:
            flags = np.zeros((count, visitor_count), np.bool_)
            flags[groups, visitors] = True
            counts: Numbers = np.count_nonzero(flags[:, WITHOUT + 1 :], axis=1)
            return counts
        has_visitor = visitors != WITHOUT
        pairs = groups[has_visitor].astype(np.int64) * visitor_count + visitors[has_visitor]
        pairs = np.sort(pairs.astype(np.min_scalar_type(count * visitor_count)))
        is_first = np.concatenate([[True], pairs[1:] != pairs[:-1]])[: len(pairs)]
        borders = np.arange(count + 1, dtype=np.int64) * visitor_count
        return np.diff(np.searchsorted(pairs[is_first], borders.astype(pairs.dtype)))


class JoinedVisits(Struct, frozen=True, eq=False):
    """Facts of the visits that the rows of sessions belong to."""

    joined: JoinedParts
    """The parts with the facts."""
    positions: Callable[[bool], Numbers | None]
    """For each row of sessions the position of its visit, of the first page view or of the last
    one; that after the last row without any. None when they cannot be told."""

    def texts(self, column: str) -> NumberedTexts | None:
        """A fact of each row of sessions: its number, and the texts by number; 0 is NULL."""
        if (positions := self.positions(column in OF_LAST_VIEW)) is None:
            return None
        numbers, texts = self.joined.text_numbers(VISITS.name, label(column))
        return np.append(numbers, NO_TEXT)[positions], texts
