"""Rows of SQL as rows of the result: objects keyed by the names of the request."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from query.engine.engine import Row
from query.metrics.dimensions import Dimension
from query.metrics.metric import Unit
from query.metrics.query import MetricsQuery
from query.request.time_range import SeriesPoint, TimeRange
from schemas.runtime.clock import format_instant
from schemas.tables import ColumnType

DECIMALS = 6
"""Decimals of a value that is no ratio."""

ResultRow = dict[str, Any]


def result_rows(query: MetricsQuery, rows: Sequence[Row]) -> list[ResultRow]:
    """The rows of the result; columns that SQL adds at the end are left out."""
    converters = _converters(query)
    return [
        {
            name: value if convert is None or value is None else convert(value)
            for (name, convert), value in zip(converters, row, strict=False)
        }
        for row in rows
    ]


def _converters(query: MetricsQuery) -> list[tuple[str, Callable[[Any], Any] | None]]:
    """How each value of a row is shown."""
    time_range = query.query.time_range
    found = [(d.name, _converter(d, time_range)) for d in query.dimensions]
    return found + [
        (m.name, None if m.metric.unit is Unit.COUNT else _rounded) for m in query.metrics
    ]


def _converter(dimension: Dimension, time_range: TimeRange) -> Callable[[Any], Any] | None:
    granularity = dimension.time.granularity if dimension.time else dimension.bucket
    if granularity:
        return time_range.bucket_labels(granularity)
    return _CONVERT.get(dimension.type)


def _rounded(value: Any) -> float:
    return round(float(value), DECIMALS)


_CONVERT: Mapping[ColumnType, Callable[[Any], Any]] = {
    ColumnType.TIMESTAMP: format_instant,
    ColumnType.DECIMAL: float,
}


def empty_row(query: MetricsQuery, keys: Sequence[Any]) -> Row:
    """The row of values that have no data: counts and money are 0, all else is null."""
    nothing = (m.metric.unit.of_nothing for m in query.metrics)
    return (*keys, *nothing)


def filled(query: MetricsQuery, rows: Sequence[Row], points: Sequence[SeriesPoint]) -> list[Row]:
    """A row for every bucket, in order of time."""
    by_bucket = {row[0]: row for row in rows}
    return [by_bucket.get(point.bucket, empty_row(query, (point.bucket,))) for point in points]


def sorted_rows(query: MetricsQuery, rows: list[Row]) -> list[Row]:
    """The rows of a series in the requested order; a stable sort keeps time for equal rows."""
    positions = {name: i for i, name in enumerate(query.columns)}
    for term in reversed(query.query.page.order):
        descending = term.direction == "desc"

        def key(row: Row, at: int = positions[term.field], last: bool = descending) -> Any:
            return ((row[at] is None) is not last, 0 if row[at] is None else row[at])

        rows.sort(key=key, reverse=descending)
    return rows
