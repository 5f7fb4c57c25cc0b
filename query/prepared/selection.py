"""Selection: the rows of rollups that a filter selects, by visitor, session or row key."""

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.attribute_rank import PLACE_BITS, PLACE_COLUMN
from query.prepared.not_prepared import TOO_MANY_KEYS, NotPrepared
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.shared_ids import WITHOUT, NumberedParts

KEY_BITS = 63


class RowKeys(Struct, frozen=True):
    """Keys of rows: one for each quarter, session, or visitor without one, part and place.

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


def row_keys(first: int, end: int, owner_count: int, part_count: int) -> RowKeys:
    """Keys of the rows of some quarters; NotPrepared when there are too many for 64 bits."""
    owner_bits = 1 + (owner_count - 1).bit_length()
    place_bits = PLACE_BITS + (part_count - 1).bit_length()
    if (end - first - 1).bit_length() + owner_bits + place_bits > KEY_BITS:
        raise NotPrepared(TOO_MANY_KEYS)
    return RowKeys(first, owner_bits, place_bits)


class ByKey(Struct, frozen=True, eq=False):
    """Sessions of which some rows are kept, and others are not."""

    flags: Numbers
    """By number of the session, whether it is one of them; so are rows without one."""
    row_keys: RowKeys
    keys: Numbers
    """Those of the rows that are kept, in ascending order."""

    def has(self, keys: Numbers) -> Numbers:
        """Which of these keys are kept."""
        if not len(self.keys):
            return np.zeros(len(keys), np.bool_)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        found: Numbers = self.keys[at] == keys
        return found


class KeptOwners(Struct, frozen=True, eq=False):
    """The visitors or sessions whose rows are kept."""

    flags: Numbers
    """By number of the visitor or session."""
    by_key: ByKey | None = None


class KeptRows(Struct, frozen=True, eq=False):
    """Which rows are kept, of stored parts and of the rest."""

    column: str
    """That of the visitors or sessions."""
    of_stored: KeptOwners
    of_rest: KeptOwners | None = None
    """None when all rows without a stored part are kept."""


class KeptPositions:
    """The rows of parts between two quarters, or those of them that are kept."""

    def __init__(
        self, numbered: NumberedParts, first: int, end: int, kept: KeptRows | None
    ) -> None:
        self._numbered = numbered
        self._first, self._end = first, end
        self._kept = kept
        self._known: dict[tuple[int, str], Numbers] = {}
        self._bounds: dict[tuple[int, str], tuple[int, int]] = {}

    def column(self, i: int, table: str, name: str) -> Numbers:
        """A column of the rows of a part that are kept, as the part has it."""
        rows = self._all(i, table, name)
        if self._kept is None or self._owners(i, self._kept) is None:
            return rows
        if (i, table) not in self._known:  # read in less time than by flags
            self._known[i, table] = np.flatnonzero(self.flags(i, table))
        return rows[self._known[i, table]]

    def flags(self, i: int, table: str) -> Numbers:
        """Of all rows of a part, which are kept."""
        if self._kept is None or (kept := self._owners(i, self._kept)) is None:
            return np.ones(len(self._all(i, table, QUARTER_COLUMN)), np.bool_)
        flags = self._of_rows(i, table, self._kept.column, kept.flags)
        if kept.by_key is not None:
            at = np.flatnonzero(self._of_rows(i, table, self._kept.column, kept.by_key.flags))
            flags[at] = kept.by_key.has(self._keys(i, table, at, kept.by_key.row_keys))
        return flags

    def _of_rows(self, i: int, table: str, column: str, flags: Numbers) -> Numbers:
        """Flags of all rows of a part, from those by number of the visitor or session."""
        if column in self._numbered.parts[i].table(table).numbers:
            # the few numbers of one part are looked up in its rows much faster than those of all
            own = flags[self._numbered.numbers(column).by_part[i]]
            return own[self._all(i, table, column)]
        return np.full(len(self._all(i, table, QUARTER_COLUMN)), flags[WITHOUT])

    def places(self, i: int, places: Numbers) -> Numbers:
        """The numbers of places in all parts, from those in one."""
        own: Numbers = self._numbered.part_numbers[i] << PLACE_BITS | places.astype(np.int64)
        return own

    def _all(self, i: int, table: str, name: str) -> Numbers:
        columns = self._numbered.parts[i].table(table)
        if (i, table) not in self._bounds:
            self._bounds[i, table] = columns.bounds(self._first, self._end)
        return columns.of_bounds(name, *self._bounds[i, table])

    def _owners(self, i: int, kept: KeptRows) -> KeptOwners | None:
        """Whose rows of a part are kept; None when all are."""
        return kept.of_stored if i < self._numbered.stored else kept.of_rest

    def _numbers(self, i: int, table: str, column: str, at: Numbers) -> Numbers:
        """The visitors or sessions of some of all rows; those of a table without it have none."""
        if column in self._numbered.parts[i].table(table).numbers:
            return self._numbered.numbers(column).by_part[i][self._all(i, table, column)[at]]
        return np.full(len(at), WITHOUT, np.intp)

    def _keys(self, i: int, table: str, at: Numbers, row_keys: RowKeys) -> Numbers:
        """The keys of some of all rows of a part."""
        quarters, places = (
            self._all(i, table, name)[at] for name in (QUARTER_COLUMN, PLACE_COLUMN)
        )
        visitors, sessions = (
            self._numbers(i, table, name, at) for name in (VISITOR_COLUMN, SESSION_COLUMN)
        )
        return row_keys.of(quarters, visitors, sessions, self.places(i, places))
