"""The prepared plan of a metrics query, where rollups have what it counts."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import msgspec
from msgspec import structs

from query.metrics.dimensions import DATE_PARTS, Dimension
from query.metrics.fields import FIELDS
from query.metrics.metrics import BY_NAME
from query.metrics.query import MetricsQuery
from query.prepared.forms import RollupPlan, of_filters
from query.prepared.metric_rows import COUNTED, VIEWS, MetricGroups, MetricTotals
from query.prepared.not_prepared import NotPrepared
from query.prepared.rollup_tables import FACTS
from query.prepared.row_columns import ALL_ROWS, view_rows
from query.prepared.row_groups import CountedField, Group, RowGroups
from query.prepared.totals_index import BucketTotals
from query.request.filter_struct import Filter, names_behavior, with_conditions

VIEW_ROWS = view_rows(FACTS, first_name=True, second_name=True)


def _ratio(above: int, below: int) -> Decimal | None:
    """As the SQL of metrics: rounded half up to two decimals; None without anything to divide."""
    return Decimal((200 * above + below) // (2 * below)) / 100 if below else None


TOTALS: Mapping[str, Callable[[BucketTotals], object]] = {
    "visitors": lambda totals: totals.visitors,
    "page_views": lambda totals: totals.page_views,
    "events": lambda totals: totals.row_count,
    "visits": lambda totals: totals.sessions,
    "bounce_rate": lambda totals: _ratio(100 * totals.bounces, totals.sessions),
    "visit_duration": lambda totals: _ratio(totals.duration_ms, 1000 * totals.sessions),
    "median_visit_duration": lambda totals: _ratio(
        totals.median_low_ms + totals.median_high_ms, 2000 if totals.sessions else 0
    ),
    "views_per_visit": lambda totals: _ratio(totals.session_page_views, totals.sessions),
}
"""The metrics that totals have."""


def rollup_plan_of(query: MetricsQuery) -> RollupPlan:
    """The plan over rollups; NotPrepared says why there is none."""
    if query.segments:
        raise NotPrepared("rollups do not answer metrics queries with 'segments'")
    if query.having.text:
        raise NotPrepared("rollups do not answer metrics queries with 'having'")
    metrics = tuple(_names(query))
    buckets = [d.time.granularity for d in query.dimensions if d.time and d.time.granularity]
    if not query.dimensions or (len(query.dimensions) == len(buckets) == 1):
        values = tuple(TOTALS[name] for name in metrics)
        totals = MetricTotals(values, buckets[0] if buckets else None)
        form = of_filters(totals, query.query.filters)
        if form is not None:
            return form[0]
    for name in metrics:
        if name not in COUNTED and name != VIEWS:
            raise NotPrepared(
                f"rollups have '{name}' of the whole time range and by time, without filters on "
                "fields that they lack; not by other dimensions"
            )
    if len(buckets) > 1:
        raise NotPrepared("rollups are grouped by buckets of one width")
    return _groups(query, metrics)


def _names(query: MetricsQuery) -> Sequence[str]:
    """The names of the metrics, all of which totals have."""
    names = []
    for selected in query.metrics:
        metric = selected.metric
        if metric.name not in TOTALS or metric is not BY_NAME[metric.name]:
            raise NotPrepared(f"rollups do not have the metric '{selected.name}'")
        names.append(metric.name)
    return names


def _groups(query: MetricsQuery, metrics: tuple[str, ...]) -> MetricGroups:
    filters = [_renamed(filter_) for filter_ in query.query.filters]
    groups = tuple(map(_group, query.dimensions))
    counted = tuple(field for name, field in COUNTED.items() if name in metrics)
    events = RowGroups(
        ALL_ROWS,
        groups,
        counted or (CountedField(),),
        msgspec.json.encode(filters),
        time_range=query.query.time_range,
    )
    for field in events.fields:
        if not ALL_ROWS.has_field(field):
            raise NotPrepared(f"rollups do not have '{field}' of all events")
    views = structs.replace(events, source=VIEW_ROWS, counted=(CountedField(),))
    return MetricGroups(metrics, events, views)


def _group(dimension: Dimension) -> Group:
    if dimension.time is not None:
        return dimension.time.granularity or DATE_PARTS[dimension.time.name]
    return _field(dimension.name)


def _field(name: str) -> str:
    """The name that rollups have for a field."""
    field = FIELDS.get(name)
    if field is None:
        raise NotPrepared(f"rollups do not have '{name}'")
    return field.fact.field if field.fact is not None else field.column


def _renamed(filter_: Filter) -> Filter:
    """The filter with the names that rollups have."""
    if names_behavior(filter_):
        raise NotPrepared("rollups do not have what visitors did")

    def renamed(condition: Filter) -> Filter:
        return structs.replace(condition, field=_field(condition.field or ""))

    return with_conditions(filter_, renamed)
