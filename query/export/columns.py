"""The columns of exports: stored names and values, so that the rows can be imported again."""

from collections.abc import Sequence

from msgspec import structs

from query.custom.tables import ColumnScope, CustomColumn, CustomTable
from query.request.suggestions import unknown_column_message
from query.scope.visitor_facts import VISITOR_PREFIX
from query.scope.visits import ROW_PREFIX, VISIT_PREFIX
from schemas.errors import Malformed
from schemas.tables.column import WEBSITE_COLUMN


def default_columns(table: CustomTable) -> tuple[CustomColumn, ...]:
    """The stored columns of a table under their plain names; of sessions all columns.

    The website is not among them: it is that of the export, unless several are exported.
    """
    return tuple(column for column in _own_columns(table) if column.name != WEBSITE_COLUMN.name)


def _own_columns(table: CustomTable) -> tuple[CustomColumn, ...]:
    if table.is_computed:
        return tuple(column for column in table.columns if column.alias_of is None)
    return tuple(
        structs.replace(column, name=column.name.removeprefix(ROW_PREFIX))
        for column in table.columns
        if column.scope is ColumnScope.ROW
    )


def columns_by_name(table: CustomTable) -> dict[str, CustomColumn]:
    """The columns that an export may name: also the facts of the visit and of the visitor."""
    facts = [c for c in table.columns if c.name.startswith((VISIT_PREFIX, VISITOR_PREFIX))]
    return {column.name: column for column in (*_own_columns(table), *facts)}


def parse_columns(text: str | None, table: CustomTable) -> Sequence[CustomColumn]:
    """The columns of a comma-separated list, in its order; by default the stored ones."""
    if text is None:
        return default_columns(table)
    if not text.strip():
        raise Malformed("'columns' is empty; name columns, or leave it out for all stored ones")
    known = columns_by_name(table)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise Malformed(unknown_column_message(name, known, f" in table '{table.name}'"))
        if names.count(name) > 1:
            raise Malformed(f"'columns' names '{name}' twice")
    return tuple(known[name] for name in names)
