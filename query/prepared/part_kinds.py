"""Kinds of parts: which tables are in one file, and of which stored table's data files it is."""

import hashlib
from collections.abc import Mapping, Sequence

from query.prepared.measured_tables import PAGE_LOADS, VITAL_VALUES
from query.prepared.part_tables import (
    FACTS,
    OTHER_EVENTS,
    OTHER_FACTS,
    PAGE_VIEWS,
    PAGES,
    SESSIONLESS,
    SESSIONS,
    VISITS,
    PartTable,
)
from query.prepared.row_places import PLACE_NUMBER
from schemas.tables import EVENTS, Table
from schemas.tables import VITALS as STORED_VITALS

MAX_ROWS = 4_000_000
"""Rows of a table of a part; a data file with more of them has no part."""
FORMAT = 10
"""Of the files with parts; another one makes all of them anew."""

TOTALS, SEQUENCES, VITALS, LOADS = "totals", "sequences", "vitals", "loads"
"""Kinds of parts; a file of its own for each, which is made when a query asks for it."""
KINDS: Mapping[str, Sequence[PartTable]] = {
    TOTALS: (SESSIONS, PAGES, FACTS, SESSIONLESS, VISITS, OTHER_EVENTS, OTHER_FACTS),
    SEQUENCES: (PAGE_VIEWS,),
    VITALS: (VITAL_VALUES,),
    LOADS: (PAGE_LOADS,),
}
TABLES: Sequence[PartTable] = [table for tables in KINDS.values() for table in tables]
KIND_OF: Mapping[str, str] = {each.name: kind for kind, tables in KINDS.items() for each in tables}
"""The kind of parts that have a table."""


def stored_table(kind: str) -> Table:
    """The table whose data files a kind of parts is made of."""
    return STORED_VITALS if kind == VITALS else EVENTS


def kinds_beside(kind: str) -> Sequence[str]:
    """All kinds of parts of the same data files."""
    return [each for each in KINDS if stored_table(each) is stored_table(kind)]


def definition(tables: Sequence[PartTable] = TABLES) -> str:
    """Eight hex digits of all tables; parts of another definition are outdated."""
    of_tables = [(each.name, " ".join(each.sql.split()), each.texts) for each in tables]
    text = f"{FORMAT} {PLACE_NUMBER} {of_tables}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]
