"""Sources of rows: tables of parts whose rows together stand for rows of events."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from query.prepared.part_tables import (
    DEVICES,
    ENTRY_PAGE,
    EXIT_PAGE,
    FACTS,
    OTHER_EVENTS,
    OTHER_FACTS,
    PLACES_AND_DEVICES,
    SESSIONLESS,
    SESSIONS,
    SOURCES,
    PartTable,
    label,
)
from query.prepared.row_places import TABLES as TABLES_OF_PLACES
from query.scope.visits import VISIT_PREFIX

VISIT_FIELDS = {VISIT_PREFIX + fact: fact for fact in (*SOURCES, ENTRY_PAGE, EXIT_PAGE, *DEVICES)}
"""The facts of visits that parts have, by the name that fields have for them."""


class CountedTable(Struct, frozen=True):
    """A table of parts, and the columns that count the rows of events which a row stands for."""

    table: PartTable
    added: tuple[str, ...]
    subtracted: tuple[str, ...] = ()


class RowSource(Struct, frozen=True):
    """Tables with the same texts, each with rows of its own."""

    tables: tuple[CountedTable, ...]

    def has(self, field: str) -> bool:
        """Whether the tables themselves have a field."""
        return all(label(field) in each.table.texts for each in self.tables)

    def may_tell(self, field: str) -> bool:
        """Whether parts may tell a field of its rows."""
        return self.has(field) or field in PLACES_AND_DEVICES or field in VISIT_FIELDS

    def tables_read(self, fields: Iterable[str]) -> Sequence[str]:
        """The tables of parts that its rows and their fields are told from."""
        names = [each.table.name for each in self.tables]
        others = [field for field in fields if not self.has(field)]
        if any(field in PLACES_AND_DEVICES for field in others):
            names += TABLES_OF_PLACES
        if any(field in VISIT_FIELDS for field in others):
            names += [SESSIONS.name, SESSIONLESS.name]
        return [*dict.fromkeys(names)]


ALL_ROWS = RowSource(
    (CountedTable(FACTS, ("views", "other_rows")), CountedTable(OTHER_FACTS, ("other_rows",)))
)
OTHER_ROWS = RowSource((CountedTable(OTHER_EVENTS, ("row_count",)),))
"""Custom events and outbound clicks."""


def view_rows(table: PartTable, *, first_name: bool, second_name: bool) -> RowSource:
    """Page views of one of their names, or of both, from a table that counts them."""
    if not second_name:
        return RowSource((CountedTable(table, ("views",), ("second_name_views",)),))
    return RowSource((CountedTable(table, ("views" if first_name else "second_name_views",)),))
