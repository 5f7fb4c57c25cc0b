"""Attribute ranks: which combination of attributes a row has within its session and quarter-hour.

Rows without a session are ranked among those of their visitor, by their sources too. Nearly all
rows have the only one, whose rank is 0. So rollups are read without ranks first; rows of the
sessions and visitors with several in a quarter-hour are read again and ranked.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, ColumnRows, Numbers
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.rollup_tables import (
    ATTRIBUTES,
    FACTS,
    NO_HASH,
    OTHER_FACTS,
    QUARTER,
    SESSION,
    SESSIONLESS,
    SOURCES,
    VISITOR,
)

RANK_COLUMN, RANKED_ROWS = "place", "placed"
RANK_BITS = 8
LAST_RANK = 2**RANK_BITS - 1
"""The number of all further ones; rollups do not separate these."""
TABLES = (FACTS.name, OTHER_FACTS.name)
"""Together they have the places of all rows."""

UNRANKED_ROWS = f"SELECT *, 0 AS {RANK_COLUMN} FROM scoped"  # noqa: S608
"""The rows of `placed` when all have the only places and devices."""
_NUMBERED_BY = (
    *ATTRIBUTES,
    *(f"CASE WHEN session_hash IS NULL THEN {source} END" for source in SOURCES),
)
_OWNER = "session_hash, CASE WHEN session_hash IS NULL THEN visitor_hash END"
RANK_SQL = (
    f"LEAST({LAST_RANK}, DENSE_RANK() OVER (PARTITION BY {QUARTER}, {_OWNER} "
    f"ORDER BY {', '.join(_NUMBERED_BY)}) - 1)"
)
_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
"""Odd numbers, by which columns are mixed into one."""
NOBODY = np.empty(0, np.int64)


class MixedSessions(Struct, frozen=True, eq=False):
    """Whose rows have several places in a quarter-hour: ascending hashes."""

    sessions: Numbers
    visitors: Numbers
    """Those of rows without a session."""

    def __bool__(self) -> bool:
        return bool(len(self.sessions) or len(self.visitors))

    @property
    def sql(self) -> str:
        """The rows of `placed` that are theirs."""
        own = []
        if len(self.sessions):
            own.append(f"IN_LONG_LIST({SESSION}, $mixed_sessions)")
        if len(self.visitors):
            own.append(f"(session_hash IS NULL AND IN_LONG_LIST({VISITOR}, $mixed_visitors))")
        return f"SELECT *, {RANK_SQL} AS {RANK_COLUMN} FROM scoped WHERE {' OR '.join(own)}"  # noqa: S608

    @property
    def values(self) -> Mapping[str, object]:
        """The bound values of the SQL."""
        both = {"mixed_sessions": self.sessions, "mixed_visitors": self.visitors}
        return {name: hashes.tolist() for name, hashes in both.items() if len(hashes)}

    def have(self, rows: ColumnRows) -> Numbers:
        """Which rows of a table are theirs."""
        sessions = rows.numbers.get(SESSION_COLUMN)
        of_visitors = np.isin(rows.numbers[VISITOR_COLUMN], self.visitors)
        if sessions is None:
            return of_visitors
        mixed: Numbers = np.isin(sessions, self.sessions) | (of_visitors & (sessions == NO_HASH))
        return mixed


def mixed_sessions(tables: Mapping[str, ColumnRows]) -> MixedSessions:
    """Whose rows have several, as far as these tables tell."""
    sessions, visitors = [NOBODY], [NOBODY]
    if {*TABLES} <= tables.keys():
        quarters, of_visitors, of_sessions = (
            np.concatenate([tables[table].numbers[name] for table in TABLES])
            for name in (QUARTER_COLUMN, VISITOR_COLUMN, SESSION_COLUMN)
        )
        without = of_sessions == NO_HASH
        owners = np.where(without, of_visitors, of_sessions)
        several = _occurring_again(quarters, owners, without)
        sessions.append(owners[several][~without[several]])
        visitors.append(owners[several][without[several]])
    if SESSIONLESS.name in tables:
        rows = tables[SESSIONLESS.name].numbers
        several = _occurring_again(rows[QUARTER_COLUMN], rows[VISITOR_COLUMN])
        visitors.append(rows[VISITOR_COLUMN][several])
    return MixedSessions(np.unique(np.concatenate(sessions)), np.unique(np.concatenate(visitors)))


def _occurring_again(*columns: Numbers) -> Numbers:
    """The positions of rows whose values another row has, too, and rarely of some others."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for own, factor in zip(columns, _FACTORS, strict=False):
        mixed += own.astype(np.uint64) * np.uint64(factor)
    order = np.argsort(mixed)
    again = np.flatnonzero(mixed[order][1:] == mixed[order][:-1])
    return order[np.union1d(again, again + 1)]


def with_rows(rows: ColumnRows, mixed: MixedSessions, numbered: ColumnRows) -> ColumnRows:
    """The rows of a table, those of mixed places being replaced by numbered ones."""
    kept = ~mixed.have(rows)
    texts = {name: list(values) for name, values in rows.texts.items()}
    numbers = {}
    for name, values in rows.numbers.items():
        further = numbered.numbers[name]
        if name in texts:
            further = _renumbered(texts[name], numbered.texts[name])[further]
        numbers[name] = np.concatenate([values[kept], further])
    return ColumnRows(numbers, texts)


def _renumbered(texts: list[str], further: Sequence[str]) -> Numbers:
    """The numbers among the texts, to which further ones are added."""
    known = {text: i for i, text in enumerate(texts, 1)}
    numbers = [NO_TEXT, *(known.setdefault(text, len(known) + 1) for text in further)]
    texts[:] = known
    return np.array(numbers, np.int64)
