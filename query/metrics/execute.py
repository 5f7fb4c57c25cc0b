"""Executes a metrics query: rows of SQL as objects keyed by the names of the request."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from query.engine.engine import Engine, Row
from query.engine.snapshots import PinnedVersion
from query.metrics.compile import compile_query
from query.metrics.metrics import Unit
from query.metrics.request import MetricsQuery
from query.request.query import MAX_ROWS
from query.response.worker_threads import run_in_worker
from query.scope.scope import Scope
from query.sql.fragment import Fragment, merge_values
from query.sql.result_forms import Count, Page
from query.sql.select import ResultForm
from schemas.runtime.clock import format_instant
from schemas.tables import ColumnType

DECIMALS = 6
"""Decimals of a value that is no ratio."""

ResultRow = dict[str, Any]


class MetricsResult(Struct, frozen=True):
    """The rows of one page, and the number of rows on all pages."""

    rows: Sequence[ResultRow]
    total: int


def scope_of(query: MetricsQuery, pinned: PinnedVersion) -> Scope:
    """The rows of that version that the query may see."""
    return Scope(
        pinned=pinned,
        subject_column=pinned.version.table.subject_column,
        subject=query.query.subject.id,
        time_range=query.query.time_range,
        where=query.conditions.where,
        visit_where=query.conditions.visit_where,
        events=pinned,
        include_bots=query.query.include_bots,
    )


async def execute(
    query: MetricsQuery, pinned: PinnedVersion, engine: Engine, seconds: float
) -> MetricsResult:
    """One page of the result."""
    scope = scope_of(query, pinned)
    limit, offset = query.limit_offset
    if query.is_series:
        everything = Page(order=_order_terms(query))
        bounds = Fragment(values={"limit": MAX_ROWS, "offset": 0})
        rows = await _fetch(query, scope, engine, seconds, everything, bounds)
        filled = _sorted(query, _filled(query, rows))
        return MetricsResult(result_rows(query, filled[offset : offset + limit]), len(filled))
    form = Page(order=_order_terms(query), where=query.having.text)
    bound = merge_values(query.having.values, {"limit": limit, "offset": offset})
    rows = await _fetch(query, scope, engine, seconds, form, Fragment(values=bound))
    total = rows[0][-1] if rows else 0
    if not rows and offset:
        count = Count(where=query.having.text)
        [(total,)] = await _fetch(query, scope, engine, seconds, count, query.having)
    return MetricsResult(await run_in_worker(len(rows), partial(result_rows, query, rows)), total)


async def _fetch(
    query: MetricsQuery,
    scope: Scope,
    engine: Engine,
    seconds: float,
    form: ResultForm,
    values: Fragment,
) -> list[Row]:
    metrics = [selected.metric for selected in query.metrics]
    sql = await compile_query(engine, scope, query.dimensions, metrics, form, values)
    return await engine.rows(sql, seconds)


def _order_terms(query: MetricsQuery) -> tuple[str, ...]:
    columns = query.columns
    return tuple(f"{columns[t.field]} {t.direction.upper()} NULLS LAST" for t in query.order)


def result_rows(query: MetricsQuery, rows: Sequence[Row]) -> list[ResultRow]:
    """The rows of the result; columns that SQL adds at the end are left out."""
    labels = bucket_labels(query)
    to_value = [
        (d.name, labels[d.name].__getitem__ if d.name in labels else _CONVERT.get(d.type))
        for d in query.dimensions
    ]
    to_value += [(m.name, None if m.metric.unit is Unit.COUNT else _rounded) for m in query.metrics]
    return [
        {
            name: value if convert is None or value is None else convert(value)
            for (name, convert), value in zip(to_value, row, strict=False)
        }
        for row in rows
    ]


def bucket_labels(query: MetricsQuery) -> Mapping[str, Mapping[int, str]]:
    """The labels of time buckets by their number, for each dimension that is one."""
    return {
        d.name: {p.bucket: p.label for p in query.query.time_range.points(d.time.granularity)}
        for d in query.dimensions
        if d.time and d.time.granularity
    }


def _rounded(value: Any) -> float:
    return round(float(value), DECIMALS)


_CONVERT: Mapping[ColumnType, Callable[[Any], Any]] = {
    ColumnType.TIMESTAMP: format_instant,
    ColumnType.DECIMAL: float,
}


def _filled(query: MetricsQuery, rows: Sequence[Row]) -> list[Row]:
    """A row for every bucket, in order of time; counts are 0 where nothing happened."""
    [labels] = bucket_labels(query).values()
    by_bucket = {row[0]: row for row in rows}
    nothing = tuple(0 if m.metric.unit is Unit.COUNT else None for m in query.metrics)
    return [by_bucket.get(bucket, (bucket, *nothing)) for bucket in labels]


def _sorted(query: MetricsQuery, rows: list[Row]) -> list[Row]:
    """The rows of a series in the requested order; a stable sort keeps time for equal rows."""
    positions = {name: i for i, name in enumerate(query.columns)}
    for term in reversed(query.query.page.order):
        descending = term.direction == "desc"

        def key(row: Row, at: int = positions[term.field], last: bool = descending) -> Any:
            return ((row[at] is None) is not last, 0 if row[at] is None else row[at])

        rows.sort(key=key, reverse=descending)
    return rows
