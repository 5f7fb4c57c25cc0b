"""KeptRows: which rows of parts are kept, by their visitor or session, or each by its key."""

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.not_prepared import TOO_MANY_KEYS, NotPrepared
from query.prepared.numbering import WITHOUT
from query.prepared.row_places import PLACE_BITS

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
