"""Builds rollups from stored rows, by the SQL of each table."""

import asyncio
from collections.abc import Sequence

from msgspec import structs

from query.engine.bounded_fetch import too_large
from query.engine.column_rows import ColumnRows
from query.engine.engine import ColumnEngine, Sql
from query.prepared.attribute_rank import (
    RANK_COLUMN,
    RANKED_ROWS,
    UNRANKED_ROWS,
    MixedSessions,
    mixed_sessions,
    with_rows,
)
from query.prepared.rollup import Rollup, make_rollup
from query.prepared.store import MAX_ROWS, TABLES
from query.scope.row_scope import Scope
from query.scope.scope import MS, scoped_rows
from query.scope.visitor_sets import all_time
from query.sql.portable import names_in
from query.sql.select import Cte, Select, render
from schemas.lake.delta_table import DataFile

BY_NAME = {table.name: table for table in TABLES}


def all_rows(scope: Scope) -> Scope:
    """The scope with the rows of all times."""
    return structs.replace(scope, time_range=all_time("UTC"), asked_range=None)


async def build_rollup(
    engine: ColumnEngine,
    scope: Scope,
    files: Sequence[DataFile],
    tables: Sequence[str],
    seconds: float,
) -> Rollup:
    """The rollup of the rows that a scope sees in these data files."""
    version = scope.pinned.version.with_files(files)
    scope = structs.replace(scope, pinned=structs.replace(scope.pinned, version=version))
    rows = {name: await _rows(engine, scope, name, seconds) for name in tables}
    if mixed := await asyncio.to_thread(mixed_sessions, rows):
        for name in [each for each in tables if RANK_COLUMN in rows[each].numbers]:
            numbered = await _rows(engine, scope, name, seconds, mixed)
            rows[name] = await asyncio.to_thread(with_rows, rows[name], mixed, numbered)
    return await asyncio.to_thread(make_rollup, rows)


async def _rows(
    engine: ColumnEngine,
    scope: Scope,
    table: str,
    seconds: float,
    mixed: MixedSessions | None = None,
) -> ColumnRows:
    """The rows of a table, or those of mixed places with their numbers."""
    statement = await _statement(engine, scope, BY_NAME[table].sql, mixed)
    rows = await engine.table(statement, seconds)
    if rows.count > MAX_ROWS:
        raise too_large()
    return rows


async def _statement(
    engine: ColumnEngine, scope: Scope, sql: str, mixed: MixedSessions | None
) -> Sql:
    placed = Cte(RANKED_ROWS, mixed.sql if mixed else UNRANKED_ROWS)
    names = {*names_in(sql), *(names_in(placed.sql) if mixed else ())}
    columns = [each for each in (*(c.name for c in scope.table.columns), MS) if each in names]
    scoped = await scoped_rows(engine, scope, columns)
    ctes = (placed,) if RANKED_ROWS in names else ()
    body = f"{sql} LIMIT {MAX_ROWS + 1}"
    select = Select(relations=scoped.relations, ctes=ctes, body=body)
    values = {**scoped.values, **(mixed.values if mixed else {})}
    return Sql(render(select, engine.dialect), values)
