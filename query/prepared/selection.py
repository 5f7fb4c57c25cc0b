"""Selection: the rows of rollups that a filter selects, by visitor, session or row key."""

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.attribute_rank import RANK_BITS, RANK_COLUMN
from query.prepared.not_prepared import TOO_MANY_KEYS, NotPrepared
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.shared_ids import WITHOUT, RollupsWithIds

KEY_BITS = 63


class LinkKeys(Struct, frozen=True):
    """Keys that link tables: quarter-hour, session or visitor, rollup and attribute rank.

    Rows of any table with the same key have the same places and devices.
    """

    first: int
    """The quarter from which keys are counted."""
    owner_bits: int
    """Of the number of a session or visitor, and whether it is that of a visitor."""
    place_bits: int

    def of(
        self, quarters: Numbers, visitors: Numbers, sessions: Numbers, places: Numbers
    ) -> Numbers:
        """The key of each row, none of which is of an earlier quarter."""
        without = sessions == WITHOUT
        owners = np.where(without, visitors, sessions).astype(np.int64) << 1 | without
        of_quarters = (quarters.astype(np.int64) - self.first) << self.owner_bits
        keys: Numbers = (of_quarters | owners) << self.place_bits | places
        return keys


def link_keys(first: int, end: int, owner_count: int, part_count: int) -> LinkKeys:
    """Keys of the rows of some quarters; NotPrepared when there are too many for 64 bits."""
    owner_bits = 1 + (owner_count - 1).bit_length()
    place_bits = RANK_BITS + (part_count - 1).bit_length()
    if (end - first - 1).bit_length() + owner_bits + place_bits > KEY_BITS:
        raise NotPrepared(TOO_MANY_KEYS)
    return LinkKeys(first, owner_bits, place_bits)


class SelectedKeys(Struct, frozen=True, eq=False):
    """Sessions of which some rows are selected, and others are not."""

    flags: Numbers
    """By number of the session, whether it is one of them; so are rows without one."""
    link_keys: LinkKeys
    keys: Numbers
    """Those of the rows that are kept, in ascending order."""

    def has(self, keys: Numbers) -> Numbers:
        """Which of these keys are kept."""
        if not len(self.keys):
            return np.zeros(len(keys), np.bool_)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        found: Numbers = self.keys[at] == keys
        return found


class SelectedIds(Struct, frozen=True, eq=False):
    """The visitors or sessions whose rows are selected."""

    flags: Numbers
    """By number of the visitor or session."""
    by_key: SelectedKeys | None = None


class Selection(Struct, frozen=True, eq=False):
    """Which rows are selected, of stored rollups and of rows without one."""

    column: str
    """That of the visitors or sessions."""
    stored_only: SelectedIds
    unprepared: SelectedIds | None = None
    """None when all rows without a stored rollup are kept."""


class SelectedRows:
    """Positions of the selected rows in each rollup."""

    def __init__(
        self, numbered: RollupsWithIds, first: int, end: int, kept: Selection | None
    ) -> None:
        self._numbered = numbered
        self._first, self._end = first, end
        self._kept = kept
        self._known: dict[tuple[int, str], Numbers] = {}
        self._bounds: dict[tuple[int, str], tuple[int, int]] = {}

    def column(self, i: int, table: str, name: str) -> Numbers:
        """A column of the rows of a rollup that are kept, as the rollup has it."""
        rows = self._all(i, table, name)
        if self._kept is None or self._owners(i, self._kept) is None:
            return rows
        if (i, table) not in self._known:  # read in less time than by flags
            self._known[i, table] = np.flatnonzero(self.flags(i, table))
        return rows[self._known[i, table]]

    def flags(self, i: int, table: str) -> Numbers:
        """Of all rows of a rollup, which are kept."""
        if self._kept is None or (kept := self._owners(i, self._kept)) is None:
            return np.ones(len(self._all(i, table, QUARTER_COLUMN)), np.bool_)
        flags = self._of_rows(i, table, self._kept.column, kept.flags)
        if kept.by_key is not None:
            at = np.flatnonzero(self._of_rows(i, table, self._kept.column, kept.by_key.flags))
            flags[at] = kept.by_key.has(self._keys(i, table, at, kept.by_key.link_keys))
        return flags

    def _of_rows(self, i: int, table: str, column: str, flags: Numbers) -> Numbers:
        """Flags of all rows of a rollup, from those by number of the visitor or session."""
        if column in self._numbered.rollups[i].table(table).numbers:
            # the few numbers of one rollup are looked up in its rows much faster than those of all
            own = flags[self._numbered.numbers(column).by_part[i]]
            return own[self._all(i, table, column)]
        return np.full(len(self._all(i, table, QUARTER_COLUMN)), flags[WITHOUT])

    def places(self, i: int, places: Numbers) -> Numbers:
        """The numbers of places in all rollups, from those in one."""
        own: Numbers = self._numbered.part_numbers[i] << RANK_BITS | places.astype(np.int64)
        return own

    def _all(self, i: int, table: str, name: str) -> Numbers:
        columns = self._numbered.rollups[i].table(table)
        if (i, table) not in self._bounds:
            self._bounds[i, table] = columns.bounds(self._first, self._end)
        return columns.of_bounds(name, *self._bounds[i, table])

    def _owners(self, i: int, kept: Selection) -> SelectedIds | None:
        """Whose rows of a rollup are kept; None when all are."""
        return kept.stored_only if i < self._numbered.stored else kept.unprepared

    def _numbers(self, i: int, table: str, column: str, at: Numbers) -> Numbers:
        """The visitors or sessions of some of all rows; those of a table without it have none."""
        if column in self._numbered.rollups[i].table(table).numbers:
            return self._numbered.numbers(column).by_part[i][self._all(i, table, column)[at]]
        return np.full(len(at), WITHOUT, np.intp)

    def _keys(self, i: int, table: str, at: Numbers, link_keys: LinkKeys) -> Numbers:
        """The keys of some of all rows of a rollup."""
        quarters, places = (self._all(i, table, name)[at] for name in (QUARTER_COLUMN, RANK_COLUMN))
        visitors, sessions = (
            self._numbers(i, table, name, at) for name in (VISITOR_COLUMN, SESSION_COLUMN)
        )
        return link_keys.of(quarters, visitors, sessions, self.places(i, places))
