"""Reads an export slice by slice, in one total order, from one snapshot.

Rows are ordered by time, then by row key. A slice is a part of the time range with about SLICE_ROWS
rows, so the engine never sorts more at once; sessions are computed from all rows, in one slice. All
slices are read from the versions pinned at the start; when one is vacuumed during the export, the
next slices come from the newest, and no slice is read twice. A version that the request named is
never replaced.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing

from msgspec import structs

from query.custom.scope import custom_scope
from query.custom.session_table import PREFIX, sessions
from query.custom.tables import CustomColumn
from query.dependencies import QueryDependencies
from query.engine.engine import DataFileMissing, Engine, Row, Sql
from query.engine.engine_choice import bytes_to_read
from query.engine.snapshots import UNREADABLE, PinnedVersion
from query.export.request import PreparedExport
from query.request.time_range import TimeRange
from query.scope.scope import Scope, scoped_rows
from query.sql.fragment import merge_values
from query.sql.portable import names_in
from query.sql.select import Select, render
from schemas.errors import Unavailable
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


SLICE_ROWS = 50_000
BATCH_ROWS = 4_000

Versions = Mapping[str, PinnedVersion]
"""The version of each table, by its name."""


async def export_batches(
    dependencies: QueryDependencies, export: PreparedExport
) -> AsyncGenerator[Sequence[Row], None]:
    """Batches of rows; closing the generator closes the query."""
    versions = await _pin(dependencies, export)
    for time_range in slices_of(export, versions):
        for is_last in (False, True):
            has_rows = False
            try:
                async with aclosing(
                    await _batches(dependencies, export, time_range, versions)
                ) as batches:
                    async for batch in batches:
                        has_rows = True
                        yield batch
                break
            except DataFileMissing:
                if has_rows or is_last:
                    raise Unavailable(UNREADABLE) from None
                await dependencies.snapshots.raise_if_vacuumed(export.query.as_of, export.tables)
                versions = await _pin(dependencies, export, reopen=True)


def slices_of(export: PreparedExport, versions: Versions) -> Iterator[TimeRange]:
    """The parts of the time range that are read one after the other."""
    table, access = export.table.table, export.row_access
    if export.table.is_computed:
        return iter([export.query.time_range])
    subjects = access.values if access.column == table.subject_column else None
    return split_time_range(export.query.time_range, versions[table.name], subjects)


def split_time_range(
    time_range: TimeRange, pinned: PinnedVersion, subjects: Sequence[str] | None
) -> Iterator[TimeRange]:
    """The time range split evenly into slices, where there are rows at all."""
    data_files = pinned.data_files(subjects, time_range.start_ms, time_range.end_ms)
    times = [data_file.ts_range for data_file in data_files if data_file.ts_range]
    first = max([time_range.start_ms, min((low for low, _ in times), default=time_range.start_ms)])
    end = min(
        [time_range.end_ms, 1 + max((high for _, high in times), default=time_range.end_ms - 1)]
    )
    count = max(1, -(-sum(data_file.rows for data_file in data_files) // SLICE_ROWS))
    width = max(1, -(-(end - first) // count))
    for start in range(first, end, width):
        yield TimeRange(start, min(start + width, end), time_range.zone)


async def _pin(
    dependencies: QueryDependencies, export: PreparedExport, reopen: bool = False
) -> Versions:
    return {
        table.name: await dependencies.snapshots.pin_at(table, export.query.as_of, reopen)
        for table in export.tables
    }


async def _batches(
    dependencies: QueryDependencies,
    export: PreparedExport,
    time_range: TimeRange,
    versions: Versions,
) -> AsyncGenerator[list[Row], None]:
    subject = export.query.subject
    read_bytes = bytes_to_read(versions.values(), subject.ids, [time_range])
    engine = dependencies.custom_limiter.for_tenant(subject.organization_id, read_bytes)
    sql = await export_statement(engine, export, time_range, versions)
    return engine.batches(sql, dependencies.timeout_seconds, BATCH_ROWS)
