"""The rows of an export, slice by slice, in one total order: by instant, then by their origin.

A slice is a stretch of the span with about SLICE_ROWS rows, so that the engine never sorts more
than that at once. Every slice is read from the version that was pinned at the beginning; when that
is compacted away meanwhile, from the newest: a slice is whole, and none is read twice. A version
that was asked for by its number is never exchanged.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from query.custom.execute import RowAccess
from query.custom.tables import CustomColumn
from query.dependencies import QueryDependencies
from query.engine.engine import DataFileMissing, Engine, Row, Sql
from query.engine.snapshots import UNREADABLE, PinnedVersion
from query.export.request import ExportQuery
from query.request.time_range import TimeRange
from query.scope.scope import Scope, scoped_rows
from schemas.errors import Unavailable
from schemas.tables import ColumnType
from schemas.tables.column import TIME_ORDER

SLICE_ROWS = 50_000
BATCH_ROWS = 4_000

ROW_ORDER = TIME_ORDER


async def export_batches(
    desk: QueryDependencies, wanted: ExportQuery, seen: RowAccess
) -> AsyncGenerator[Sequence[Row], None]:
    """Batches of rows; what is open is closed with the generator."""
    stored, as_of = wanted.table.table, wanted.as_of
    pinned = await desk.snapshots.pin_at(stored, as_of)
    for part in split_time_range(wanted.time_range, pinned, seen):
        for last in (False, True):
            began = False
            try:
                async with aclosing(await _batches(desk, wanted, seen, part, pinned)) as batches:
                    async for batch in batches:
                        began = True
                        yield batch
                break
            except DataFileMissing:
                if began or last:
                    raise Unavailable(UNREADABLE) from None
                await desk.snapshots.raise_if_vacuumed(as_of, [stored])
                pinned = await desk.snapshots.pin_at(stored, as_of, reopen=True)


def split_time_range(
    span: TimeRange, pinned: PinnedVersion, seen: RowAccess
) -> Iterator[TimeRange]:
    """The span, cut into even stretches of time where there are rows at all."""
    table = pinned.version.table
    subject = seen.value if seen.column == table.subject_column else None
    parts = pinned.data_files(subject, span.start_ms, span.end_ms)
    times = [part.ts_range for part in parts if part.ts_range]
    first = max([span.start_ms, min((low for low, _ in times), default=span.start_ms)])
    beyond = min([span.end_ms, 1 + max((high for _, high in times), default=span.end_ms - 1)])
    count = max(1, -(-sum(part.rows for part in parts) // SLICE_ROWS))
    width = max(1, -(-(beyond - first) // count))
    for start in range(first, beyond, width):
        yield TimeRange(start, min(start + width, beyond), span.zone)


async def _batches(
    desk: QueryDependencies,
    wanted: ExportQuery,
    seen: RowAccess,
    part: TimeRange,
    pinned: PinnedVersion,
) -> AsyncGenerator[list[Row], None]:
    scope = Scope(
        pinned=pinned,
        subject_column=seen.column,
        subject=seen.value,
        span=part,
        where=wanted.where,
        include_bots=wanted.include_bots,
    )
    sql = await slice_statement(desk.custom_limiter.pool, wanted.columns, scope)
    return desk.custom_limiter.pool.batches(sql, desk.timeout_seconds, BATCH_ROWS)


async def slice_statement(engine: Engine, columns: Sequence[CustomColumn], scope: Scope) -> Sql:
    """The statement of one slice."""
    shown = ",\n".join(f"{_shown(engine, column)} AS o{i}" for i, column in enumerate(columns))
    base = await scoped_rows(
        engine, scope, list(dict.fromkeys([*ROW_ORDER, *(c.sql for c in columns)]))
    )
    text = f"WITH scoped AS (\n{base.text}\n)\nSELECT {shown}\n  FROM scoped\n"
    return Sql(f"{text} ORDER BY {', '.join(ROW_ORDER)}", base.values)


def _shown(engine: Engine, column: CustomColumn) -> str:
    if column.type is ColumnType.TIMESTAMP:
        return engine.unix_ms(column.sql)
    return f"CAST({column.sql} AS DOUBLE)" if column.type is ColumnType.DECIMAL else column.sql
