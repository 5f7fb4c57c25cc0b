"""A fact of the visit by number of the session; an index of it serves every range."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import SESSION_COLUMN, smallest
from query.prepared.part_tables import SESSIONS
from query.prepared.visit_index import visits_are_told


class SessionValues(Struct, frozen=True, eq=False):
    """The number of each session's text, and the texts by number; 0 is NULL."""

    numbers: Numbers
    texts: Sequence[str | None]

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return self.numbers.nbytes + sum(len(text or "") + 60 for text in self.texts)


UNTOLD_VALUES = SessionValues(np.empty(0, np.int64), ())
"""In place of values that parts cannot tell."""


def session_values(joined: JoinedParts, fact: str) -> SessionValues | None:
    """The values of a fact; None when they cannot be told."""
    if visits_are_told(joined):
        index = joined.index(("of_sessions", fact), lambda whole: _values(whole, fact))
        if index is not None and index.texts:
            return index
    values = _values(joined, fact)
    return values if values.texts else None


def _values(joined: JoinedParts, fact: str) -> SessionValues:
    facts = joined.visit_facts([fact])
    if facts is None:
        return UNTOLD_VALUES
    [(of_rows, texts)] = facts
    numbers = np.zeros(joined.count(SESSION_COLUMN), np.int64)
    numbers[joined.columns(SESSIONS.name, SESSION_COLUMN)[SESSION_COLUMN]] = of_rows
    return SessionValues(smallest(numbers), texts)
