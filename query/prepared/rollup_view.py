"""RollupView: rows of one table of several rollups between two quarter-hours, ids unified."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.attribute_rank import RANK_COLUMN
from query.prepared.groups_index import distinct_values
from query.prepared.rollup import SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.rollup_tables import OF_LAST_VIEW, SESSIONS, VISITS, label
from query.prepared.selection import LinkKeys, SelectedIds, SelectedRows, Selection, link_keys
from query.prepared.shared_ids import EncodedTexts, RollupsWithIds

ChooseTexts: TypeAlias = Callable[[Sequence[str]], Sequence[int]]
"""The positions of some of the texts, which are in ascending order."""
NOTHING = np.empty(0, np.intp)
NOBODY = np.empty(0, np.int64)
NUMBERED = (VISITOR_COLUMN, SESSION_COLUMN)


class Sized(Protocol):
    """What caches hold."""

    @property
    def size(self) -> int:
        """Bytes in memory."""


Index = TypeVar("Index", bound=Sized)


class RollupView:
    """Rows of several rollups between two quarter-hours, with shared ids."""

    def __init__(
        self,
        numbered: RollupsWithIds,
        first: int,
        end: int,
        whole: "WholeView | None" = None,
        kept: Selection | None = None,
    ) -> None:
        self._numbered = numbered
        self._rollups = numbered.rollups
        self._numbers = numbered.numbers
        self._stored = numbered.stored
        self._whole = whole
        self._kept = kept
        self._rows = SelectedRows(numbered, first, end, kept)
        self._positions: dict[str, Numbers] = {}
        self._whole_sessions: RollupView | None = None
        self.first, self.end = first, end
        self.visits: VisitView | None = None
        """Facts of the visits of the sessions, when they were asked for."""
        self.earlier: Numbers = NOBODY
        """Hashes of the visitors before all rows in ascending order, when they were asked for."""

    @property
    def whole_sessions(self) -> "RollupView":
        """All rows of the sessions of these rows, which metrics of visits are of."""
        return self._whole_sessions or self

    @whole_sessions.setter
    def whole_sessions(self, rows: "RollupView") -> None:
        self._whole_sessions = rows

    @property
    def has_unprepared(self) -> bool:
        """Whether there are rows without a stored rollup."""
        return self._stored < len(self._rollups)

    def stored_count(self, column: str) -> int:
        """Numbers that a column of visitors or sessions of the stored rollups may have."""
        return len(self._numbers(column).known)

    def index(self, name: object, make: "Callable[[RollupView], Index]") -> Index | None:
        """What is made once of all rows of the stored rollups; None where it cannot be kept."""
        return None if self._whole is None else self._whole.index(name, make)

    def between(self, first: int, end: int) -> "RollupView":
        """The rows of some of these quarters."""
        first, end = max(first, self.first), min(end, self.end)
        return RollupView(self._numbered, first, end, kept=self._kept)

    def of_ids(self, column: str, flags: Numbers, *, with_rest: bool) -> "RollupView":
        """The rows of stored rollups whose visitor or session is flagged, and all of the rest."""
        numbered = self._numbered if with_rest else self._numbered.some(0, self._stored)
        kept = Selection(column, SelectedIds(flags))
        return RollupView(numbered, self.first, self.end, kept=kept)

    def stored_only(self) -> "RollupView":
        """The rows of stored rollups."""
        stored = self._numbered.some(0, self._stored)
        own = RollupView(stored, self.first, self.end, kept=self._kept)
        own._rows = self._rows  # stored rollups come first: they have the same positions
        return own

    def unprepared(self) -> "RollupView":
        """The rows without a stored rollup."""
        rest = self._numbered.some(self._stored, len(self._rollups))
        return RollupView(rest, self.first, self.end)

    def by_rollup(self) -> "Iterator[RollupView]":
        """The rows of each rollup that may have some, without facts of visits."""
        for i in self._having_rows:
            yield RollupView(self._numbered.some(i, i + 1), self.first, self.end, kept=self._kept)

    def of_sessions(self, stored: SelectedIds, rest: SelectedIds) -> "RollupView":
        """The rows of sessions that are kept, with the facts of their visits."""
        kept = Selection(SESSION_COLUMN, stored, rest)
        own = RollupView(self._numbered, self.first, self.end, kept=kept)
        if self.visits is not None:
            kept_now = own.selected_flags(SESSIONS.name)
            own.visits = self.visits.of_rows(kept_now[self.selected_flags(SESSIONS.name)])
        return own

    def selected_flags(self, table: str) -> Numbers:
        """Of all rows of a table, which are kept."""
        return np.concatenate([self._rows.flags(i, table) for i in self._having_rows])

    @property
    def link_keys(self) -> LinkKeys:
        """Keys of rows of these quarters; NotPrepared where rows have none."""
        owner_count = max(map(self.count, NUMBERED))
        return link_keys(self.first, self.end, owner_count, 1 + max(self._numbered.part_numbers))

    def of_positions(self, table: str, positions: Numbers) -> "RollupView":
        """The same with some rows of one table, from which columns and texts are read.

        It has no indexes, nor what these need: `between` and `of_ids` have the rows at all
        positions.
        """
        own = RollupView(self._numbered, self.first, self.end, kept=self._kept)
        own.visits = self.visits
        own._positions = {table: positions}
        return own

    def unprepared_flags(self, tables: Sequence[str], column: str) -> Numbers:
        """By number of a visitor or session whether a row of the rest has it."""
        numbers = self._numbers(column)
        flags = np.zeros(numbers.count, np.bool_)
        for i in range(self._stored, len(self._rollups)):
            for table in tables:
                rows = self._rollups[i].table(table).between(column, self.first, self.end)
                flags[numbers.by_part[i][rows]] = True
        return flags

    def columns(self, table: str, *names: str) -> Mapping[str, Numbers]:
        """Columns of the rows of a table."""
        return {name: self._column(table, name) for name in names}

    def _column(self, table: str, name: str) -> Numbers:
        return self._joined(table, [self._of_part(i, table, name) for i in self._having_rows])

    def _joined(self, table: str, of_parts: Sequence[Numbers]) -> Numbers:
        if len(of_parts) == 1:
            return of_parts[0]
        rows = np.concatenate(of_parts)
        return rows[self._positions[table]] if table in self._positions else rows

    @cached_property
    def _having_rows(self) -> Sequence[int]:
        """The positions of the rollups that may have rows; the first one when none has."""
        found = [i for i, p in enumerate(self._rollups) if p.may_have(self.first, self.end)]
        return found or [0]

    def _of_part(self, i: int, table: str, name: str) -> Numbers:
        rows = self._stored_column(i, table, name)
        if name == RANK_COLUMN:
            return self._rows.places(i, rows)
        return self._numbers(name).by_part[i][rows] if name in NUMBERED else rows

    def _stored_column(self, i: int, table: str, name: str) -> Numbers:
        """A column of the rows of a rollup, as the rollup has it."""
        rows = self._rows.column(i, table, name)
        if table in self._positions and len(self._having_rows) == 1:
            rows = rows[self._positions[table]]
        return rows

    def count(self, column: str) -> int:
        """Numbers that a column of visitors or sessions may have."""
        return self._numbers(column).count

    def hashes(self, column: str, numbers: Numbers) -> Numbers:
        """The hashes of numbers of visitors or sessions."""
        return self._numbers(column).hashes(numbers)

    def text_numbers(self, table: str, column: str) -> EncodedTexts:
        """A column of texts: their numbers in all rollups, and the texts by these; 0 is NULL."""
        return self.text_values(table, column), self.texts(table, column)

    def text_values(self, table: str, column: str, values: Numbers | None = None) -> Numbers:
        """A value of each row by the number of its text, or that number."""
        by_part = self._numbered.texts(table, column).by_part
        return self._mapped(table, column, by_part, values)

    def session_values(self, table: str, values: Numbers) -> Numbers:
        """A value of each row by the number of its session."""
        by_part = self._numbers(SESSION_COLUMN).by_part
        return self._mapped(table, SESSION_COLUMN, by_part, values)

    def _mapped(
        self, table: str, column: str, by_part: Sequence[Numbers], values: Numbers | None
    ) -> Numbers:
        """A value by the number of each row, from the numbers that each rollup has for it."""

        def of_rollup(i: int) -> Numbers:
            rows = self._stored_column(i, table, column)
            if values is None:
                return by_part[i][rows]
            # few selected rows of a rollup have fewer values than its ids
            is_selective = len(rows) < len(by_part[i])
            return values[by_part[i][rows]] if is_selective else values[by_part[i]][rows]

        return self._joined(table, [of_rollup(i) for i in self._having_rows])

    def texts(self, table: str, column: str) -> Sequence[str | None]:
        """The texts of a column of all rollups by number, as above."""
        return self._numbered.texts(table, column).texts

    def rows_of_texts(
        self, table: str, column: str, choose: ChooseTexts, *names: str
    ) -> Mapping[str, Numbers]:
        """Columns of the rows of a table that have one of some texts."""
        found = [self._chosen(i, table, column, choose, names) for i in self._having_rows]
        return {name: np.concatenate([each[name] for each in found]) for name in names}

    def _chosen(
        self, i: int, table: str, column: str, choose: ChooseTexts, names: Sequence[str]
    ) -> Mapping[str, Numbers]:
        rollup = self._rollups[i].table(table)
        flags = np.zeros(len(rollup.texts[column]) + 1, np.bool_)
        flags[[1 + position for position in choose(rollup.texts[column])]] = True
        at = np.flatnonzero(flags[self._of_part(i, table, column)]) if flags.any() else NOTHING
        columns = {name: self._stored_column(i, table, name)[at] for name in names}
        for name in {*names} & {*NUMBERED}:
            columns[name] = self._numbers(name).by_part[i][columns[name]]
        return columns

    def visit_facts(self, columns: Sequence[str]) -> Sequence[EncodedTexts] | None:
        """Facts of the visit of each row of sessions; None when they are not determined."""
        facts = [self.visits.texts(column) for column in columns] if self.visits else []
        known = [fact for fact in facts if fact is not None]
        return known if len(known) == len(columns) else None

    def distinct(
        self, groups: Numbers, values: Numbers, count: int, column: str = VISITOR_COLUMN
    ) -> Numbers:
        """Distinct visitors, or sessions, of each of `count` groups, from those of each row."""
        return distinct_values(groups, values, count, self.count(column))


class WholeView(Struct, frozen=True, eq=False):
    """All rows of a set of stored rollups, and what was made of them once."""

    joined: Callable[[], RollupView]
    made: Callable[[object, Callable[[], Any]], Any]
    """What was made under a name, or is made now."""

    def index(self, name: object, make: Callable[[RollupView], Index]) -> Index:
        """What `make` gives for all rows."""
        found: Index = self.made(name, lambda: make(self.joined()))
        return found


class VisitView(Struct, frozen=True, eq=False):
    """Facts of the visits that the rows of sessions belong to."""

    joined: RollupView
    """The rollups with the facts."""
    positions: Callable[[bool], Numbers | None]
    """For each row of sessions the position of its visit, of the first page view or of the last
    one; that after the last row without any. None when they are not determined."""

    def of_rows(self, kept: Numbers) -> "VisitView":
        """Those of the rows of sessions that are kept."""

        def positions(is_last: bool) -> Numbers | None:
            of_all = self.positions(is_last)
            return None if of_all is None else of_all[kept]

        return VisitView(self.joined, positions)

    def texts(self, column: str) -> EncodedTexts | None:
        """A fact of each row of sessions: its number, and the texts by number; 0 is NULL."""
        if (positions := self.positions(column in OF_LAST_VIEW)) is None:
            return None
        numbers, texts = self.joined.text_numbers(VISITS.name, label(column))
        return np.append(numbers, numbers.dtype.type(NO_TEXT))[positions], texts
