"""Query parameters of an export, parsed into a query of columns that can be imported again."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct, structs
from starlette.datastructures import QueryParams

from query.custom.scope import RowAccess, row_access, tables_of_visitors
from query.custom.tables import CUSTOM_TABLES, ColumnScope, CustomColumn, CustomTable, tables_read
from query.engine.requested_versions import AsOf
from query.request.body import decode_json
from query.request.filters import Filter, compile_conditions
from query.request.query import Query
from query.request.segments import expand_segments
from query.request.subject import QuerySubject
from query.request.suggestions import unknown_column_message, unknown_name_message
from query.request.time_parameters import parse_time_range
from query.request.time_zones import check_time_zone
from query.scope.path_columns import PATH_COLUMN_NAMES
from query.scope.visitor_facts import VISITOR_PREFIX
from query.scope.visits import ROW_PREFIX, VISIT_PREFIX
from query.sql.fragment import Fragment
from schemas.errors import Malformed
from schemas.registry import Key
from schemas.tables import Table
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
        if column.scope is ColumnScope.ROW and column.name not in PATH_COLUMN_NAMES
    )


def columns_by_name(table: CustomTable) -> dict[str, CustomColumn]:
    """The columns that an export may name: also the facts of visit, visitor and path."""
    prefixes = (VISIT_PREFIX, VISITOR_PREFIX)
    names = PATH_COLUMN_NAMES
    facts = [c for c in table.columns if c.name.startswith(prefixes) or c.name in names]
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


MAX_DAYS = 3_660

EXPORT_TABLES = CUSTOM_TABLES
"""The tables of custom queries; the rows of a computed one are computed for each export."""

PERSONS = ("device", "profile")
FLAGS = {"true": True, "false": False, "1": True, "0": False}


class PreparedExport(Struct, frozen=True):
    """A query with what it exports and the rows that its caller may see."""

    query: Query
    table: CustomTable
    columns: Sequence[CustomColumn]
    where: Fragment
    row_access: RowAccess

    @property
    def tables(self) -> Sequence[Table]:
        """The stored tables that it reads, its own first."""
        read = tables_read(self.table, self.columns, self.where)
        return tuple(dict.fromkeys((*read, *tables_of_visitors(self.query, self.table))))


def parse_export(
    name: str, params: QueryParams, now_ms: int, subject: QuerySubject, key: Key
) -> PreparedExport:
    """The validated export; Malformed names the parameter and the rule."""
    table = EXPORT_TABLES.get(name)
    if table is None:
        raise Malformed(unknown_name_message("table", name, EXPORT_TABLES))
    zone = check_time_zone("timezone", params.get("timezone") or subject.time_zone)
    time_range = parse_time_range(
        params.get("startDate"), params.get("endDate"), params.get("preset"), zone, now_ms, MAX_DAYS
    )
    query = Query(
        subject=subject,
        time_range=time_range,
        now_ms=now_ms,
        filters=expand_segments(_filters(params.get("filters")), subject.saved),
        include_bots=_flag("include_bots", params.get("include_bots", "false")),
        by_profile=_person(params.get("person")) == "profile",
        as_of=_versions(params.get("asOf"), table),
        name=table.name,
    )
    where = compile_conditions(
        query.filters, table.fields, f"table '{table.name}'", visitors=table.visitors
    )
    columns = parse_columns(params.get("columns"), table)
    tables_of_visitors(query, table)  # before the response begins
    return PreparedExport(query, table, columns, where, row_access(table, subject, key))


def _filters(text: str | None) -> Sequence[Filter]:
    if not text:
        return ()
    return decode_json(text.encode("utf-8", "surrogatepass"), list[Filter], "filters")


def _versions(text: str | None, table: CustomTable) -> AsOf:
    """A version of the table, or of several tables as a JSON object."""
    if text is None:
        return None
    try:
        as_of = msgspec.json.decode(text, type=AsOf)
    except (msgspec.MsgspecError, UnicodeError):
        raise Malformed(
            f"'asOf' is '{text[:40]}'; it must be a version number from 'meta.versions', or all of "
            "that object"
        ) from None
    return {table.table.name: as_of} if isinstance(as_of, int) else as_of


def _flag(name: str, text: str) -> bool:
    if text not in FLAGS:
        raise Malformed(f"'{name}' is '{text[:40]}'; it must be true or false")
    return FLAGS[text]


def _person(text: str | None) -> str | None:
    if text not in (None, *PERSONS):
        raise Malformed(f"'person' is '{text[:40]}'; it must be {' or '.join(PERSONS)}")
    return text
