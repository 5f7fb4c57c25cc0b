"""KeptRows: which rows of parts are kept, by their visitor or session."""

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers

VISITOR_BITS = 32
"""Of the number of a visitor, in a key of quarter and visitor."""


class KeptRows(Struct, frozen=True, eq=False):
    """Rows whose visitor or session is flagged."""

    column: str
    flags: Numbers
    """By number of the visitor or session."""
    of_rest: bool = False
    """Whether it is so of rows without a stored part, too; else all of these are kept."""
    without: Numbers | None = None
    """Keys of quarter and visitor whose rows without a session are kept as well."""


def quarter_keys(quarters: Numbers, visitors: Numbers) -> Numbers:
    """A key of each quarter and visitor."""
    keys: Numbers = (quarters.astype(np.int64) << VISITOR_BITS) | visitors
    return keys
