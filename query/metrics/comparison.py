"""Comparison: each row of metrics beside its row in another time range.

Rows are matched by the values of their dimensions, buckets of time by their position in the time
range. A bucket without a counterpart has no previous row and no change.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from query.engine.engine import Row
from query.formats.columns import ColumnKind, ResultColumn
from query.metrics.execute import MetricsResult, PreparedMetrics
from query.metrics.query import MetricsQuery
from query.metrics.result_rows import ResultRow, empty_row, result_rows
from query.request.buckets import WIDTH_MS, bucket_at, bucket_position
from query.request.time_range import utc_offset_periods
from query.response.worker_threads import run_in_worker
from query.sql.fragment import Fragment, all_of, merge_values
from query.sql.result_forms import Page
from query.standard.comparison import ComparedRow, Comparison, change_of, percent_of
from schemas.runtime.clock import format_instant

ALL_ROWS = 2**31 - 1

Key = tuple[Any, ...]
Counterpart = Callable[[int], int | None]
"""The bucket of the other time range for one of the query's; None without one."""


async def compare(prepared: PreparedMetrics, result: MetricsResult) -> Comparison | None:
    """The rows of the result beside those of the other time range; None without one."""
    query = prepared.query
    time_range = query.query.comparison_range
    if time_range is None:
        return None
    own = structs.replace(query.query, time_range=time_range)
    other = structs.replace(prepared, query=structs.replace(query, query=own))
    keys = _keys_in(other.query, query, result.rows)
    found = await other.fetch(*_rows_with([key for key in keys if key is not None], query))
    compared = await run_in_worker(
        len(result.rows) + len(found), partial(_compared, query, other.query, result, keys, found)
    )
    start, end = (format_instant(ms) for ms in (time_range.start_ms, time_range.end_ms))
    return Comparison(start, end, compared)


def _keys_in(other: MetricsQuery, query: MetricsQuery, rows: Sequence[Row]) -> list[Key | None]:
    """The values of the dimensions of each row in the other time range; None without a bucket."""
    buckets = [_counterpart(query, other, i) for i in range(len(query.dimensions))]
    return [_key(row[: len(buckets)], buckets) for row in rows]


def _counterpart(query: MetricsQuery, other: MetricsQuery, at: int) -> Counterpart | None:
    """Gives the bucket at the same position of the other time range; None for other values."""
    time = query.dimensions[at].time
    if time is None or time.granularity is None:
        return None
    ranges = [q.query.time_range for q in (query, other)]
    if (width := WIDTH_MS.get(time.granularity)) is not None:
        periods, others = map(utc_offset_periods, ranges)
        return lambda bucket: bucket_at(bucket_position(bucket, periods, width), others, width)
    points, other_points = (one.points(time.granularity) for one in ranges)
    by_bucket = {p.bucket: o.bucket for p, o in zip(points, other_points, strict=False)}
    return by_bucket.get


def _key(values: Row, counterparts: Sequence[Counterpart | None]) -> Key | None:
    key = []
    for value, counterpart in zip(values, counterparts, strict=True):
        other = value if counterpart is None else counterpart(value)
        if counterpart is not None and other is None:
            return None
        key.append(other)
    return tuple(key)


def _rows_with(keys: Sequence[Key], query: MetricsQuery) -> tuple[Page, Fragment]:
    """The form that gives the rows with these values, however low they rank."""
    conditions = []
    for i in range(len(query.dimensions)):
        values = list(dict.fromkeys(key[i] for key in keys if key[i] is not None))
        text = f"(IN_LONG_LIST(d{i}, $key{i}) OR d{i} IS NULL)" if values else f"d{i} IS NULL"
        conditions.append(Fragment(text, {f"key{i}": values} if values else {}))
    where = all_of(*conditions)
    bound = merge_values(where.values, {"limit": ALL_ROWS, "offset": 0})
    return Page(order=("m0",), where=where.text), Fragment(values=bound)


def _compared(
    query: MetricsQuery,
    other: MetricsQuery,
    result: MetricsResult,
    keys: Sequence[Key | None],
    found: Sequence[Row],
) -> list[ComparedRow]:
    width = len(query.dimensions)
    by_key: dict[Key | None, Row] = {tuple(row[:width]): row for row in found}
    if query.is_series:
        by_key = {key: by_key.get(key, empty_row(query, key)) for key in keys if key is not None}
    previous = [by_key.get(key) for key in keys]
    shown = iter(result_rows(other, [row for row in previous if row is not None]))
    return [
        _compared_row(query, row, None if before is None else next(shown), key is not None)
        for row, before, key in zip(result_rows(query, result.rows), previous, keys, strict=True)
    ]


def _compared_row(
    query: MetricsQuery, row: ResultRow, previous: ResultRow | None, has_counterpart: bool
) -> ComparedRow:
    names = [metric.name for metric in query.metrics]
    if previous is None:
        grown = {
            m.name: row[m.name] if has_counterpart and m.metric.unit.of_nothing == 0 else None
            for m in query.metrics
        }
        return ComparedRow(None, grown, dict.fromkeys(names))
    change = {name: change_of(row[name], previous[name]) for name in names}
    percent = {name: percent_of(change[name], previous[name]) for name in names}
    return ComparedRow(previous, change, percent)


def comparison_columns(query: MetricsQuery, columns: Sequence[ResultColumn]) -> list[ResultColumn]:
    """The columns of a comparison, for these columns of the rows."""
    width = len(query.dimensions)
    found = [ResultColumn(f"previous_{c.name}", c.kind) for c in _timed(query, columns)]
    for column in columns[width:]:
        found += [
            ResultColumn(f"previous_{column.name}", column.kind),
            ResultColumn(f"change_{column.name}", column.kind),
            ResultColumn(f"change_percent_{column.name}", ColumnKind.NUMBER),
        ]
    return found


def comparison_values(
    query: MetricsQuery, columns: Sequence[ResultColumn], compared: ComparedRow
) -> list[Any]:
    """The values of those columns for one row."""
    before: Any = compared.previous or {}
    values = [before.get(column.name) for column in _timed(query, columns)]
    for column in columns[len(query.dimensions) :]:
        values += [
            before.get(column.name),
            compared.change[column.name],
            compared.change_percent[column.name],
        ]
    return values


def _timed(query: MetricsQuery, columns: Sequence[ResultColumn]) -> list[ResultColumn]:
    """The columns of the rows that are parts of time."""
    return [c for c, d in zip(columns, query.dimensions, strict=False) if d.time]
