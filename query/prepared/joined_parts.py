"""Joined parts: the rows of one table of several parts between two quarters of an hour.

Visitors and texts are numbered within each part; here they have the same number in all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.part import Part
from query.prepared.part_tables import NO_VISITOR, OF_LAST_VIEW, VISITS, label

WITHOUT_VISITOR = 0
"""The number of rows without a visitor; visitors are numbered from 1."""
NumberedTexts: TypeAlias = tuple[Numbers, Sequence[str | None]]
"""The number of each row's text, and the texts by number; 0 is NULL."""
MAX_FLAGS = 2**26
"""Bytes of a table of groups by visitors; beyond it pairs are sorted."""


class VisitorNumbers(Struct, frozen=True, eq=False):
    """A number for each visitor of several parts."""

    count: int
    """Numbers that are used, that of rows without a visitor included."""
    by_part: Sequence[Numbers]
    """For each part the numbers of its visitors, by position."""

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(each.nbytes for each in self.by_part)


def number_visitors(parts: Sequence[Part]) -> VisitorNumbers:
    """The numbers of the visitors of these parts."""
    hashes = np.concatenate([np.array([NO_VISITOR]), *(part.visitors for part in parts)])
    known, positions = np.unique(hashes, return_inverse=True)
    borders = np.cumsum([len(part.visitors) for part in parts])[:-1]
    return VisitorNumbers(len(known), np.split(positions[1:].astype(np.uint32), borders))


class JoinedParts:
    """Parts, the visitors of all of them, and the quarters that are asked for."""

    def __init__(
        self,
        parts: Sequence[Part],
        visitors: VisitorNumbers,
        first: int,
        end: int,
        visits: "JoinedVisits | None" = None,
    ) -> None:
        self._parts = parts
        self._visitors = visitors
        self.first, self.end = first, end
        self.visits = visits
        """Facts of the visits of the sessions, when they were asked for."""

    def columns(self, table: str) -> Mapping[str, Numbers]:
        """The rows of a table; texts as they are numbered in their part."""
        of_parts = []
        for part, numbers in zip(self._parts, self._visitors.by_part, strict=True):
            rows = dict(part.tables[table].between(self.first, self.end))
            if "visitor" in rows:
                rows["visitor"] = numbers[rows["visitor"]]
            of_parts.append(rows)
        return {name: np.concatenate([rows[name] for rows in of_parts]) for name in of_parts[0]}

    def text_numbers(self, table: str, column: str) -> NumberedTexts:
        """A column of texts: their numbers in all parts, and the texts by these; 0 is NULL."""
        known: dict[str | None, int] = {None: NO_TEXT}
        of_parts = []
        for part in self._parts:
            columns = part.tables[table]
            codes = columns.between(self.first, self.end)[column]
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
        if count * self._visitors.count <= MAX_FLAGS:
            flags = np.zeros((count, self._visitors.count), np.bool_)
            flags[groups, visitors] = True
            counts: Numbers = np.count_nonzero(flags[:, WITHOUT_VISITOR + 1 :], axis=1)
            return counts
        pairs = np.sort(groups.astype(np.uint64) << np.uint64(32) | visitors.astype(np.uint64))
        is_first = np.concatenate([[True], pairs[1:] != pairs[:-1]])[: len(pairs)]
        has_visitor = pairs & np.uint64(0xFFFFFFFF) != WITHOUT_VISITOR
        found = pairs[is_first & has_visitor] >> np.uint64(32)
        return np.bincount(found.astype(np.int64), minlength=count)


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


def join_without_visitors(parts: Sequence[Part], first: int, end: int) -> JoinedParts:
    """Parts of tables that have no column of visitors."""
    nobody = np.empty(0, np.uint32)
    return JoinedParts(parts, VisitorNumbers(0, [nobody] * len(parts)), first, end)
