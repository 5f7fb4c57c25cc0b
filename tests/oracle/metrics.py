"""Oracle of metrics queries: the rows of an answer, in their order."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct

from tests.oracle import wall_clock
from tests.oracle.aggregates import ResultRow
from tests.oracle.filters import all_hold
from tests.oracle.metric_values import METRICS, Group
from tests.oracle.metrics_groups import BUCKETS, Key, Point, groups_of, point
from tests.oracle.query import StandardQuery
from tests.oracle.stored_rows import RowsByTable, unix_ms
from tests.oracle.wall_clock import iso


class MetricsQuery(Struct, frozen=True, kw_only=True):
    """One metrics question, as it is sent."""

    metrics: Sequence[str]
    start: date
    end: date
    dimensions: Sequence[str] = ()
    filters: Sequence[Mapping[str, Any]] = ()
    having: Sequence[Mapping[str, Any]] = ()
    order_by: Sequence[Mapping[str, str]] = ()
    subject: str = "shop"
    zone: str = "UTC"
    limit: int | None = None
    page: int = 1
    include_bots: bool = False
    compare: str | None = None
    person: str = "device"

    @property
    def scoped(self) -> StandardQuery:
        """The question about its rows, whatever the filters."""
        return StandardQuery(
            name="",
            start=self.start,
            end=self.end,
            subject=self.subject,
            zone=self.zone,
            include_bots=self.include_bots,
            person=self.person,
        )

    @property
    def body(self) -> Mapping[str, Any]:
        """The body of its request."""
        given = {"limit": self.limit, "compare": self.compare}
        return {
            "metrics": list(self.metrics),
            "dimensions": list(self.dimensions),
            "filters": list(self.filters),
            "having": list(self.having),
            "orderBy": list(self.order_by),
            "startDate": self.start.isoformat(),
            "endDate": self.end.isoformat(),
            "timezone": self.zone,
            "page": self.page,
            "include_bots": self.include_bots,
            "person": self.person,
            **{name: value for name, value in given.items() if value is not None},
        }


def expected_result(held: RowsByTable, query: MetricsQuery) -> list[ResultRow]:
    """The rows that the service should give."""
    return [shown(query, key, row) for key, row in page_of(held, query)]


def page_of(held: RowsByTable, query: MetricsQuery) -> list[tuple[Key, ResultRow]]:
    """The metrics of each row of the page, with the values of its dimensions."""
    values = values_of(held, query, is_series(query))
    found = [each for each in values.items() if all_hold(each[1], query.having)]
    ordered = _ordered(found, query)
    limit = query.limit or (10_000 if is_series(query) else 1_000)
    return ordered[(query.page - 1) * limit : query.page * limit]


def values_of(held: RowsByTable, query: MetricsQuery, every_bucket: bool) -> dict[Key, ResultRow]:
    """The metrics of every combination of values, or of every bucket also where nothing was."""
    groups = groups_of(held, query)
    if not query.dimensions:
        groups.setdefault((), Group())
    if every_bucket:
        points = points_of(query, query.dimensions[0])
        groups |= {(at,): groups.get((at,), Group()) for at in points}
    return {
        key: {name: METRICS[name].value(group) for name in query.metrics}
        for key, group in groups.items()
    }


def shown(query: MetricsQuery, key: Key, row: ResultRow) -> ResultRow:
    """A row as it is sent."""
    return {**dict(zip(_names(query), map(_shown, key), strict=True)), **row}


def _names(query: MetricsQuery) -> list[str]:
    """The dimensions as the answer names them: a metric has its name first."""
    return [f"event.{n}" if n in query.metrics else n for n in query.dimensions]


def is_series(query: MetricsQuery) -> bool:
    """Whether every bucket is in the answer."""
    if len(query.dimensions) != 1 or query.having:
        return False
    return query.dimensions[0].removeprefix("time:") in BUCKETS


def points_of(query: MetricsQuery, dimension: str) -> list[Point]:
    """Every bucket of a part of time."""
    start_ms, end_ms = wall_clock.bounds(query.start, query.end, query.zone)
    granularity = BUCKETS[dimension.removeprefix("time:")]
    points = wall_clock.points(start_ms, end_ms, query.zone, granularity)
    return [point(label, distance) for label, distance in points]


def _ordered(found: list[tuple[Key, ResultRow]], query: MetricsQuery) -> list[Any]:
    default = {"field": query.metrics[0], "direction": "desc"}
    if query.dimensions and query.dimensions[0].startswith("time:"):
        default = {"field": query.dimensions[0], "direction": "asc"}
    ties = [{"field": name, "direction": "asc"} for name in _names(query)]
    rows = list(found)
    for term in reversed([*(query.order_by or [default]), *ties]):
        name, descending = term["field"], term["direction"] == "desc"
        rows.sort(key=lambda each: _rank(each, name, descending, query), reverse=descending)
    return rows


def _rank(each: tuple[Key, ResultRow], name: str, descending: bool, query: MetricsQuery) -> Any:
    key, row = each
    value = row[name] if name in row else key[_names(query).index(name)]
    return ((value is None) is not descending, 0 if value is None else value)


def _shown(value: Any) -> Any:
    if isinstance(value, Point):
        return value.label
    if isinstance(value, datetime):
        return iso(unix_ms(value))
    return float(value) if isinstance(value, Decimal) else value
