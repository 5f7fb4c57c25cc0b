"""Reads parts from stored rows: sums them up by the SQL of each table."""

import asyncio
from collections.abc import Sequence

from msgspec import structs

from query.engine.engine import ColumnEngine, Sql
from query.engine.row_memory import too_large
from query.prepared.part import Part, make_part
from query.prepared.part_kinds import MAX_ROWS, TABLES
from query.scope.row_scope import Scope
from query.scope.scope import MS, scoped_rows
from query.scope.visitor_sets import all_time
from query.sql.portable import names_in
from query.sql.select import Select, render
from schemas.lake.delta_table import DataFile

BY_NAME = {table.name: table for table in TABLES}


def all_rows(scope: Scope) -> Scope:
    """The scope with the rows of all times."""
    return structs.replace(scope, time_range=all_time("UTC"), asked_range=None)


async def read_part(
    engine: ColumnEngine,
    scope: Scope,
    files: Sequence[DataFile],
    tables: Sequence[str],
    seconds: float,
) -> Part:
    """The part of the rows that a scope sees in these data files."""
    version = scope.pinned.version.with_files(files)
    scope = structs.replace(scope, pinned=structs.replace(scope.pinned, version=version))
    rows = {}
    for name in tables:
        rows[name] = await engine.table(await _statement(engine, scope, name), seconds)
        if rows[name].count > MAX_ROWS:
            raise too_large()
    return await asyncio.to_thread(make_part, rows)


async def _statement(engine: ColumnEngine, scope: Scope, table: str) -> Sql:
    sql = BY_NAME[table].sql
    names = names_in(sql)
    columns = [each for each in (*(c.name for c in scope.table.columns), MS) if each in names]
    scoped = await scoped_rows(engine, scope, columns)
    body = f"{sql} LIMIT {MAX_ROWS + 1}"
    return Sql(render(Select(relations=scoped.relations, body=body), engine.dialect), scoped.values)
