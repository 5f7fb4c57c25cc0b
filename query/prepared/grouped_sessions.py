"""Page views, visitors and sessions by columns of the page view, of which parts have no session.

Where all page views of a visitor, or all of it in a quarter of an hour, have one group, its
sessions have that group. Sessions of which this is not known are left to a statement.
"""

from collections.abc import Sequence
from typing import ClassVar, overload

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.engine.engine import Row
from query.prepared.breakdown import NamedGroups, groups_by, number_groups
from query.prepared.form_ranges import OfWholeRange
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.part_tables import FACTS, SESSIONS, label
from query.prepared.quarters import Quarters

UNTOLD, NO_GROUP = -1, -2
"""In place of the group of what may have several, or has no row."""
MAX_UNTOLD = 10_000
"""Sessions that a statement may be asked for."""
ROW_BYTES = 200


class SessionCounts(Struct, frozen=True, eq=False):
    """Sessions of each group, without those that are not told."""

    counts: Numbers
    untold: Numbers
    """The numbers of the sessions whose groups are not known."""


class GroupedRows(Sequence[Row]):
    """Rows whose sessions, in the last column, are without some; the hashes of these."""

    def __init__(self, rows: Sequence[Row], untold: Sequence[int]) -> None:
        self._rows = rows
        self.untold = untold

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return ROW_BYTES * (1 + len(self._rows)) + 40 * len(self.untold)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Row]: ...
    def __getitem__(self, key: int | slice) -> Row | Sequence[Row]:
        return self._rows[key]


class GroupedSessions(OfWholeRange, frozen=True):
    """A row for each group: its texts together, each of them, page views, visitors, sessions.

    Most visitors come first. No text of a column but the first is the empty text.
    """

    columns: tuple[str, ...]
    tables: ClassVar[Sequence[str]] = (FACTS.name, SESSIONS.name)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> GroupedRows | None:  # noqa: ARG002
        groups, of_rows = _groups_of_facts(joined, self.columns)
        found = count_sessions(joined, of_rows, len(groups))
        if len(found.untold) > MAX_UNTOLD:
            return None
        untold = joined.hashes(SESSION_COLUMN, found.untold).tolist()
        named = groups_by(joined, self.columns)
        sessions = dict(zip(groups, found.counts.tolist(), strict=True))
        return GroupedRows(_rows(named, sessions), untold)


def _rows(named: NamedGroups, sessions: dict[tuple[str, ...], int]) -> list[Row]:
    counted = zip(named.texts, named.views.tolist(), named.visitors.tolist(), strict=True)
    made = [
        (" ".join((texts[0], *filter(None, texts[1:]))), *texts, views, visitors, sessions[texts])
        for texts, views, visitors in counted
        if views
    ]
    return sorted(made, key=lambda row: (-row[-2], -row[-3], *row[:-3]))


def _groups_of_facts(
    joined: JoinedParts, columns: Sequence[str]
) -> tuple[Sequence[tuple[str, ...]], Numbers]:
    """The texts of each group, and the group of each row; one more for rows without the first."""
    numbered = [joined.text_numbers(FACTS.name, label(column)) for column in columns]
    kept = numbered[0][0] != NO_TEXT
    texts, own = number_groups([(numbers[kept], known) for numbers, known in numbered])
    groups = np.full(len(kept), len(texts))
    groups[kept] = own
    return texts, groups


def count_sessions(joined: JoinedParts, groups: Numbers, count: int) -> SessionCounts:
    """The sessions of `count` groups, from the group of each row of facts."""
    of_rows, sessions = _told_groups(joined, groups)
    session_count = joined.count(SESSION_COLUMN)
    is_untold = np.zeros(session_count, np.bool_)
    is_untold[sessions[of_rows == UNTOLD]] = True
    told = ~is_untold[sessions]
    of_rows, sessions = of_rows[told], sessions[told]
    own = only_groups(sessions, of_rows, session_count)
    counts = np.bincount(own[own >= 0], minlength=count + 1)
    several = own[sessions] == UNTOLD
    pairs = np.unique(sessions[several].astype(np.int64) * (count + 1) + of_rows[several])
    counts += np.bincount(pairs % (count + 1), minlength=count + 1)
    return SessionCounts(counts[:count], np.flatnonzero(is_untold))


def _told_groups(joined: JoinedParts, groups: Numbers) -> tuple[Numbers, Numbers]:
    """The group and the session of each row of sessions that has page views."""
    facts = joined.columns(FACTS.name, QUARTER_COLUMN, VISITOR_COLUMN)
    rows = joined.columns(SESSIONS.name, QUARTER_COLUMN, VISITOR_COLUMN, SESSION_COLUMN, "views")
    viewed = rows["views"] > 0
    quarters, visitors = rows[QUARTER_COLUMN][viewed], rows[VISITOR_COLUMN][viewed]
    own = only_groups(facts[VISITOR_COLUMN], groups, joined.count(VISITOR_COLUMN))
    of_rows = own[visitors]
    several, of_facts = of_rows == UNTOLD, own[facts[VISITOR_COLUMN]] == UNTOLD
    if several.any():
        known = _pairs(joined, facts[QUARTER_COLUMN][of_facts], facts[VISITOR_COLUMN][of_facts])
        keys, numbers = np.unique(known, return_inverse=True)
        by_quarter = only_groups(numbers, groups[of_facts], len(keys))
        wanted = _pairs(joined, quarters[several], visitors[several])
        of_rows[several] = by_quarter[np.searchsorted(keys, wanted)]
    return of_rows, rows[SESSION_COLUMN][viewed]


def _pairs(joined: JoinedParts, quarters: Numbers, visitors: Numbers) -> Numbers:
    """Pairs of a quarter and a visitor as numbers."""
    pairs: Numbers = quarters.astype(np.int64) * joined.count(VISITOR_COLUMN) + visitors
    return pairs


def only_groups(keys: Numbers, groups: Numbers, count: int) -> Numbers:
    """By key the one group of its rows: UNTOLD where they have several, NO_GROUP without rows."""
    own = np.full(count, NO_GROUP)
    own[keys] = groups
    own[keys[own[keys] != groups]] = UNTOLD
    return own
