"""The rows of an export, slice by slice, in one total order: by instant, then by their origin.

A slice is a stretch of the span with about SLICE_ROWS rows, so that the engine never sorts more
than that at once. Every slice is read from the version that was pinned at the beginning; when that
is compacted away meanwhile, from the newest: a slice is whole, and none is read twice. A version
that was asked for by its number is never exchanged.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from query.custom.execute import Seen
from query.custom.tables import CustomColumn
from query.dependencies import Desk
from query.engine.engine import Engine, PartGone, Row, Sql
from query.engine.snapshots import Pinned
from query.export.request import Wanted
from query.request.time_range import Span
from query.scope.scope import Scope, scoped
from schemas.errors import Unavailable
from schemas.tables import Type
from schemas.tables.column import IN_TIME

SLICE_ROWS = 50_000
BATCH_ROWS = 4_000

ORDER = IN_TIME


async def exported(desk: Desk, wanted: Wanted, seen: Seen) -> AsyncGenerator[Sequence[Row], None]:
    """Batches of rows; what is open is closed with the generator."""
    stored, as_of = wanted.table.stored, wanted.as_of
    pinned = await desk.shelf.pin_at(stored, as_of)
    for part in slices(wanted.span, pinned, seen):
        for last in (False, True):
            began = False
            try:
                async with aclosing(await _batches(desk, wanted, seen, part, pinned)) as batches:
                    async for batch in batches:
                        began = True
                        yield batch
                break
            except PartGone:
                if began or last:
                    raise Unavailable("The stored data cannot be read at the moment") from None
                await desk.shelf.refuse_gone(as_of, [stored])
                pinned = await desk.shelf.pin_at(stored, as_of, anew=True)


def slices(span: Span, pinned: Pinned, seen: Seen) -> Iterator[Span]:
    """The span, cut into even stretches of time where there are rows at all."""
    table = pinned.version.table
    subject = seen.value if seen.column == table.subject else None
    parts = pinned.parts(subject, span.start_ms, span.end_ms)
    times = [part.ts for part in parts if part.ts]
    first = max([span.start_ms, min((low for low, _ in times), default=span.start_ms)])
    beyond = min([span.end_ms, 1 + max((high for _, high in times), default=span.end_ms - 1)])
    count = max(1, -(-sum(part.rows for part in parts) // SLICE_ROWS))
    width = max(1, -(-(beyond - first) // count))
    for start in range(first, beyond, width):
        yield Span(start, min(start + width, beyond), span.zone)


async def _batches(
    desk: Desk, wanted: Wanted, seen: Seen, part: Span, pinned: Pinned
) -> AsyncGenerator[list[Row], None]:
    scope = Scope(
        pinned=pinned,
        subject_column=seen.column,
        subject=seen.value,
        span=part,
        where=wanted.where,
        include_bots=wanted.include_bots,
    )
    sql = await compiled(desk.custom.pool, wanted.columns, scope)
    return desk.custom.pool.batches(sql, desk.seconds, BATCH_ROWS)


async def compiled(engine: Engine, columns: Sequence[CustomColumn], scope: Scope) -> Sql:
    """The statement of one slice."""
    shown = ",\n".join(f"{_shown(engine, column)} AS o{i}" for i, column in enumerate(columns))
    base = await scoped(engine, scope, list(dict.fromkeys([*ORDER, *(c.sql for c in columns)])))
    text = f"WITH scoped AS (\n{base.text}\n)\nSELECT {shown}\n  FROM scoped\n"
    return Sql(f"{text} ORDER BY {', '.join(ORDER)}", base.values)


def _shown(engine: Engine, column: CustomColumn) -> str:
    if column.type is Type.TIMESTAMP:
        return engine.unix_ms(column.sql)
    return f"CAST({column.sql} AS DOUBLE)" if column.type is Type.DECIMAL else column.sql
