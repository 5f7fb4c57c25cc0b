"""Reads an export slice by slice, in one total order, from one snapshot.

Rows are ordered by time, then by row key. A slice is a part of the time range with about SLICE_ROWS
rows, so the engine never sorts more at once. All slices are read from the version pinned at the
start; when that was compacted away meanwhile, the next slices come from the newest version, and no
slice is read twice. A version that the request named is never replaced.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from query.custom.row_access import RowAccess
from query.custom.tables import CustomColumn
from query.dependencies import QueryDependencies
from query.engine.engine import DataFileMissing, Engine, Row, Sql
from query.engine.snapshots import UNREADABLE, PinnedVersion
from query.export.request import ExportQuery
from query.request.time_range import TimeRange
from query.scope.scope import Scope, scoped_rows
from query.sql.select import Select, render
from schemas.errors import Unavailable
from schemas.tables import ColumnType
from schemas.tables.column import TIME_ORDER

SLICE_ROWS = 50_000
BATCH_ROWS = 4_000

ROW_ORDER = TIME_ORDER


async def export_batches(
    dependencies: QueryDependencies, export_query: ExportQuery, access: RowAccess
) -> AsyncGenerator[Sequence[Row], None]:
    """Batches of rows; closing the generator closes the query."""
    table, as_of = export_query.table.table, export_query.as_of
    pinned = await dependencies.snapshots.pin_at(table, as_of)
    for slice_range in split_time_range(export_query.time_range, pinned, access):
        for is_last in (False, True):
            has_rows = False
            try:
                async with aclosing(
                    await _batches(dependencies, export_query, access, slice_range, pinned)
                ) as batches:
                    async for batch in batches:
                        has_rows = True
                        yield batch
                break
            except DataFileMissing:
                if has_rows or is_last:
                    raise Unavailable(UNREADABLE) from None
                await dependencies.snapshots.raise_if_vacuumed(as_of, [table])
                pinned = await dependencies.snapshots.pin_at(table, as_of, reopen=True)


def split_time_range(
    time_range: TimeRange, pinned: PinnedVersion, access: RowAccess
) -> Iterator[TimeRange]:
    """The time range split evenly into slices, where there are rows at all."""
    table = pinned.version.table
    subject = access.value if access.column == table.subject_column else None
    data_files = pinned.data_files(subject, time_range.start_ms, time_range.end_ms)
    times = [data_file.ts_range for data_file in data_files if data_file.ts_range]
    first = max([time_range.start_ms, min((low for low, _ in times), default=time_range.start_ms)])
    end = min(
        [time_range.end_ms, 1 + max((high for _, high in times), default=time_range.end_ms - 1)]
    )
    count = max(1, -(-sum(data_file.rows for data_file in data_files) // SLICE_ROWS))
    width = max(1, -(-(end - first) // count))
    for start in range(first, end, width):
        yield TimeRange(start, min(start + width, end), time_range.zone)


async def _batches(
    dependencies: QueryDependencies,
    export_query: ExportQuery,
    access: RowAccess,
    slice_range: TimeRange,
    pinned: PinnedVersion,
) -> AsyncGenerator[list[Row], None]:
    scope = Scope(
        pinned=pinned,
        subject_column=access.column,
        subject=access.value,
        time_range=slice_range,
        where=export_query.where,
        include_bots=export_query.include_bots,
    )
    sql = await slice_statement(dependencies.custom_limiter.pool, export_query.columns, scope)
    return dependencies.custom_limiter.pool.batches(sql, dependencies.timeout_seconds, BATCH_ROWS)


async def slice_statement(engine: Engine, columns: Sequence[CustomColumn], scope: Scope) -> Sql:
    """The SQL of one slice."""
    outputs = ", ".join(f"{_output_sql(column)} AS o{i}" for i, column in enumerate(columns))
    names = list(dict.fromkeys([*ROW_ORDER, *(column.sql for column in columns)]))
    scoped = await scoped_rows(engine, scope, names)
    body = f"SELECT {outputs} FROM scoped ORDER BY {', '.join(ROW_ORDER)}"  # noqa: S608
    select = Select(relations=scoped.relations, body=body)
    return Sql(render(select, engine.dialect), scoped.values)


def _output_sql(column: CustomColumn) -> str:
    if column.type is ColumnType.TIMESTAMP:
        return f"UNIX_MS({column.sql})"
    return f"CAST({column.sql} AS DOUBLE)" if column.type is ColumnType.DECIMAL else column.sql
