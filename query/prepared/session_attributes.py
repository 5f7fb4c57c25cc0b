"""Attributes of sessions, such as country and device: an index by field for filters on any range.

It has the text of all rows of each session, and which sessions have rows of several texts. Rows
without a session are in it one by one.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.attribute_rank import RANK_COLUMN, TABLES
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.rollup_tables import label
from query.prepared.rollup_view import RollupView
from query.prepared.shared_ids import WITHOUT, TextCodes, renumbered


class SessionAttributes(Struct, frozen=True, eq=False):
    """The texts of one field; 0 is the number of NULL."""

    texts: Sequence[str | None]
    of_sessions: Numbers
    """The number of the text of each session."""
    sessions: Numbers
    """Rows one by one, of no session or of one with several texts: the session, and so on."""
    quarters: Numbers
    visitors: Numbers
    places: Numbers
    of_rows: Numbers
    """The numbers of their texts."""

    @property
    def has_several(self) -> bool:
        """Whether there are sessions with several texts."""
        return bool((self.sessions != WITHOUT).any())

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        of_rows = (self.sessions, self.quarters, self.visitors, self.places, self.of_rows)
        arrays = (self.of_sessions, *of_rows)
        return sum(each.nbytes for each in arrays) + sum(len(t or "") + 60 for t in self.texts)


def session_attributes(joined: RollupView, field: str) -> SessionAttributes | None:
    """The index of a field over all rows; None where it cannot be kept."""
    return joined.index(("places", field), lambda whole: index_attributes(whole, field))


def index_attributes(whole: RollupView, field: str) -> SessionAttributes:
    """The index of all rows."""
    texts = TextCodes()
    tables = [renumbered(*whole.text_numbers(each, label(field)), texts) for each in TABLES]
    numbers = np.concatenate(tables)
    names = (SESSION_COLUMN, QUARTER_COLUMN, VISITOR_COLUMN, RANK_COLUMN)
    columns = [whole.columns(table, *names) for table in TABLES]
    sessions, quarters, visitors, places = (
        np.concatenate([each[name] for each in columns]) for name in names
    )
    of_sessions = np.zeros(whole.count(SESSION_COLUMN), np.int64)
    of_sessions[sessions] = numbers
    one_by_one = np.zeros(len(of_sessions), np.bool_)
    one_by_one[sessions[numbers != of_sessions[sessions]]] = True
    one_by_one[WITHOUT] = True
    rows = np.flatnonzero(one_by_one[sessions])
    return SessionAttributes(
        texts.texts,
        smallest(of_sessions),
        sessions[rows],
        smallest(quarters[rows]),
        visitors[rows],
        smallest(places[rows]),
        smallest(numbers[rows]),
    )
