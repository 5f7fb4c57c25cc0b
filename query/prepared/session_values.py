"""A text of the visit by number of the session; an index of it serves every range.

Of sessions with rows without a stored part it is told anew.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import SESSION_COLUMN, smallest
from query.prepared.part_tables import OF_LAST_VIEW, SESSIONS, VISITS, label
from query.prepared.part_texts import NumberedTexts, TextNumbers, in_text_order, renumbered
from query.prepared.visit_index import (
    VISIT_COLUMNS,
    index_visits,
    sessions_of_rest,
    visits_are_told,
)


class VisitText(Struct, frozen=True):
    """The first of some facts that has a value."""

    facts: tuple[str, ...]
    otherwise: str | None = None
    """The text of visits without one."""


class SessionValues(Struct, frozen=True, eq=False):
    """The number of each session's text, and the texts by number; 0 is NULL."""

    numbers: Numbers
    texts: Sequence[str | None]
    """In ascending order after NULL; of sessions with rows without a part after all others."""

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return self.numbers.nbytes + sum(len(text or "") + 60 for text in self.texts)


UNTOLD_VALUES = SessionValues(np.empty(0, np.int64), ())
"""In place of values that parts cannot tell."""


def fact_values(joined: JoinedParts, fact: str) -> SessionValues | None:
    """The values of a fact; None when they cannot be told."""
    return session_values(joined, VisitText((fact,)))


def session_values(joined: JoinedParts, text: VisitText) -> SessionValues | None:
    """The values of a text; None when they cannot be told."""
    if (index := indexed_values(joined, text)) is not None:
        flags = sessions_of_rest(joined)
        return index if flags is None else _with_rest(joined, text, index, flags)
    values = _values(joined, text)
    return values if values.texts else None


def indexed_values(joined: JoinedParts, text: VisitText) -> SessionValues | None:
    """Those of the sessions of stored parts; None where no index tells them."""
    if not visits_are_told(joined):
        return None
    index = joined.index(("of_sessions", text), lambda whole: _values(whole, text))
    return index if index is not None and index.texts else None


def first_texts(columns: Sequence[NumberedTexts], otherwise: str | None) -> NumberedTexts:
    """The first text of each row that is there."""
    if len(columns) == 1 and otherwise is None:
        return columns[0]
    known = TextNumbers()
    numbers = np.zeros(len(columns[0][0]), np.int64)
    for own, texts in reversed(columns):
        numbers = np.where(own == NO_TEXT, numbers, renumbered(own, texts, known))
    if otherwise is not None:
        numbers[numbers == NO_TEXT] = known.of(otherwise)
    return numbers, known.texts


def _with_rest(
    joined: JoinedParts, text: VisitText, index: SessionValues, flags: Numbers
) -> SessionValues | None:
    """Those of flagged sessions from the rows of their visits; None when these do not tell them."""
    if joined.visits is None:
        return None
    visits = joined.visits.joined.of_flagged(SESSION_COLUMN, flags, with_rest=True)
    rows = visits.columns(VISITS.name, *VISIT_COLUMNS)
    keys, sessions = np.unique(rows[SESSION_COLUMN], return_inverse=True)
    columns = []
    for fact in text.facts:
        is_last = fact in OF_LAST_VIEW
        first = index_visits({**rows, SESSION_COLUMN: sessions}, len(keys), is_last=is_last)
        if first is None:
            return None
        of_rows, texts = visits.text_numbers(VISITS.name, label(fact))
        columns.append((of_rows[first], texts))
    numbers, texts = first_texts(columns, text.otherwise)
    known = TextNumbers(index.texts, len(texts))
    values = np.zeros(joined.count(SESSION_COLUMN), np.uint32)
    values[: len(index.numbers)] = index.numbers
    values[flags] = known.of(text.otherwise)
    values[keys] = renumbered(numbers, texts, known)
    return SessionValues(values, known.texts)


def _values(joined: JoinedParts, text: VisitText) -> SessionValues:
    facts = joined.visit_facts(text.facts)
    if facts is None:
        return UNTOLD_VALUES
    of_rows, texts = in_text_order(*first_texts(facts, text.otherwise))
    numbers = np.zeros(joined.count(SESSION_COLUMN), np.int64)
    numbers[joined.columns(SESSIONS.name, SESSION_COLUMN)[SESSION_COLUMN]] = of_rows
    return SessionValues(smallest(numbers), texts)
