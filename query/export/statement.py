"""The SQL of an export: its columns over stored rows, or over sessions, in one total order."""

from collections.abc import Mapping

from msgspec import structs

from query.custom.scope import custom_scope
from query.custom.session_table import PREFIX, sessions
from query.custom.tables import CustomColumn
from query.engine.engine import Engine, Sql
from query.engine.snapshots import PinnedVersion
from query.export.request import PreparedExport
from query.request.time_range import TimeRange
from query.scope.scope import Scope, scoped_rows
from query.sql.fragment import merge_values
from query.sql.portable import names_in
from query.sql.select import Select, render
from schemas.tables import ColumnType
from schemas.tables.column import TIME_ORDER

SESSION_ORDER = (f"{PREFIX}started_at", f"{PREFIX}session_id")


async def export_statement(
    engine: Engine,
    export: PreparedExport,
    time_range: TimeRange,
    versions: Mapping[str, PinnedVersion],
) -> Sql:
    """The SQL of the rows of a part of the time range."""
    scope = custom_scope(export.query, export.table, export.row_access, export.where, versions)
    scope = structs.replace(scope, time_range=time_range, asked_range=export.query.time_range)
    outputs = ", ".join(f"{_output_sql(column)} AS o{i}" for i, column in enumerate(export.columns))
    if export.table.is_computed:
        return await _sessions(engine, export, scope, outputs)
    names = list(dict.fromkeys([*TIME_ORDER, *(column.sql for column in export.columns)]))
    scoped = await scoped_rows(engine, scope, names)
    body = f"SELECT {outputs} FROM scoped ORDER BY {', '.join(TIME_ORDER)}"  # noqa: S608
    select = Select(relations=scoped.relations, body=body)
    return Sql(render(select, engine.dialect), scoped.values)


async def _sessions(engine: Engine, export: PreparedExport, scope: Scope, outputs: str) -> Sql:
    used = {*SESSION_ORDER, *(c.sql for c in export.columns), *names_in(export.where.text)}
    names = {name.removeprefix(PREFIX) for name in used}
    scoped = await sessions(engine, scope, names)
    where = f" WHERE {export.where.text}" if export.where.text else ""
    order = ", ".join(SESSION_ORDER)
    select = Select(
        relations=scoped.relations,
        body=f"SELECT {outputs} FROM sessions{where} ORDER BY {order}",  # noqa: S608
    )
    return Sql(render(select, engine.dialect), merge_values(scoped.values, export.where.values))


def _output_sql(column: CustomColumn) -> str:
    if column.type is ColumnType.DECIMAL:
        return f"CAST({column.sql} AS DOUBLE)"
    return column.ms_sql(column.sql)
