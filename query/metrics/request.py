"""Body of a metrics query, parsed into a MetricsQuery."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field, structs

from query.engine.requested_versions import AsOf
from query.metrics.conditions import compile_filters, tables_with
from query.metrics.dimensions import TIME_PREFIX, parse_dimensions
from query.metrics.goal_filters import GOAL, PREFIX, expand_goals
from query.metrics.ledger import LEDGER_METRIC_NAMES
from query.metrics.money import CURRENCY, MoneyTerm, choose_money, currency_of_row
from query.metrics.query import MetricsQuery
from query.metrics.segments import DIMENSION as SEGMENT_DIMENSION
from query.metrics.segments import MAX_SEGMENTS, select_segments
from query.metrics.terms import MetricTerm, SelectedMetric, select_metrics
from query.request.comparison_range import CompareOptions, comparison_range
from query.request.filters import Filter, FilterField, compile_conditions
from query.request.order import FieldName, OrderTerm
from query.request.query import MAX_ROWS, PageOptions, Query
from query.request.segments import expand_segments
from query.request.subject import QuerySubject, SubjectKind
from query.request.suggestions import shorten, unknown_name_message
from query.request.time_parameters import parse_time_range
from query.request.time_range import MAX_POINTS, check_time_zone
from query.sql.fragment import Fragment
from query.standard.shared_queries import (
    check_shared_body,
    check_shared_field,
    check_shared_steps,
)
from query.standard.sql.steps import GoalStep, resolve_step
from query.standard.types.goals import MAX_GOALS
from schemas.errors import Forbidden, Malformed
from schemas.registry import SavedRecords
from schemas.tables import ColumnType

MAX_DAYS = 3_660
MAX_METRICS = 20
MAX_DIMENSIONS = 5


class MetricsRequest(
    Struct, frozen=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """Metrics by dimensions, about one website."""

    metrics: Annotated[list[FieldName | MetricTerm], Meta(min_length=1, max_length=MAX_METRICS)]
    dimensions: Annotated[list[FieldName], Meta(max_length=MAX_DIMENSIONS)] = []
    filters: list[Filter] = []
    having: list[Filter] = []
    """Conditions on metrics."""
    order_by: Annotated[list[OrderTerm], Meta(max_length=25)] = []
    """Metrics and dimensions."""
    segments: Annotated[list[FieldName | None], Meta(max_length=MAX_SEGMENTS)] = []
    """Saved segments side by side, by id or name, null for all visitors; rows have `segment`."""
    goals: Annotated[list[GoalStep], Meta(max_length=MAX_GOALS)] = []
    """What conversions are of."""
    start_date: str | None = None
    end_date: str | None = None
    preset: str | None = None
    timezone: str | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_ROWS)] | None = None
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    compare: str | CompareOptions | None = None
    as_of: AsOf = None
    include_bots: bool = field(name="include_bots", default=False)
    person: Literal["device", "profile"] = "device"
    """Whether a visitor is one device, or all devices of one profile."""
    definitions: bool = False
    """Whether `meta` has the meaning of each metric and dimension."""


def parse_request(
    body: MetricsRequest,
    subject: QuerySubject,
    zone: str | None,
    now_ms: int,
    prepared: bool = True,
) -> MetricsQuery:
    """The query of a body; `zone` of the query string overrides the body's time zone."""
    if subject.kind is not SubjectKind.WEBSITE:
        raise Malformed("Metrics queries are about a website; give 'website_id', not 'link_id'")
    saved, shared = subject.saved, subject.shared_filters
    if shared is not None:
        check_shared_body(body.filters, body.include_bots)
        if body.segments:
            raise Forbidden("'segments' is not available on a shared dashboard")
        _check_shared(body.metrics, body.dimensions, body.goals)
    filters = expand_goals(expand_segments(body.filters, saved), saved)
    filters += shared or ()
    body = structs.replace(body, filters=filters)
    name = check_time_zone("timezone", zone or body.timezone or subject.time_zone)
    dates = (body.start_date, body.end_date, body.preset)
    time_range = parse_time_range(*dates, name, now_ms, MAX_DAYS)
    compared = None
    if body.compare is not None:
        compared = comparison_range(body.compare, time_range, now_ms, MAX_DAYS, body.preset)
    goals = [resolve_step(goal, saved, f"goals[{i}]") for i, goal in enumerate(body.goals)]
    by_currency = CURRENCY in body.dimensions
    metrics = select_metrics(body.metrics, goals, saved, by_currency)
    computed = {CURRENCY: _currency(body, saved)} if by_currency else {}
    names = {metric.name for metric in metrics}
    dimensions = parse_dimensions(body.dimensions, names, computed)
    segments = select_segments(body.segments, saved)
    if segments:
        dimensions = (*dimensions, SEGMENT_DIMENSION)
    own_names = {term.name for term in body.metrics if not isinstance(term, str)}
    for name_of_both in own_names & {one.name for one in dimensions}:
        raise Malformed(
            f"'{name_of_both}' names a dimension and a metric; "
            "give the metric another name by {'metric': …, 'as': …}"
        )
    parsed = MetricsQuery(
        query=Query(
            subject=subject,
            time_range=time_range,
            now_ms=now_ms,
            filters=body.filters,
            include_bots=body.include_bots,
            by_profile=body.person == "profile",
            prepared=prepared,
            as_of=body.as_of,
            page=PageOptions(body.page, body.limit, body.order_by),
            comparison_range=compared,
        ),
        dimensions=dimensions,
        metrics=metrics,
        segments=segments,
        having=_having(body.having, metrics),
    )
    for table in parsed.tables:
        for of_segment in parsed.filters_of_segments:
            compile_filters(of_segment, time_range, table, saved)
    _check_tables(parsed)
    _check_points(parsed)
    for i, term in enumerate(body.order_by):
        if term.field not in parsed.columns:
            where = f" in 'orderBy[{i}]'"
            raise Malformed(unknown_name_message("field", term.field, parsed.columns, where))
    return parsed


def _currency(body: MetricsRequest, saved: SavedRecords) -> Fragment:
    """The dimension `currency`: of the money properties that the metrics sum, else of all."""
    named = [m.money for m in body.metrics if isinstance(m, MetricTerm) and m.money is not None]
    if len(set(named)) > 1:
        raise Malformed(f"'{CURRENCY}' is of one money property; the metrics name several")
    term = MoneyTerm("dimensions", money=named[0] if named else None)
    return currency_of_row(choose_money(term, saved), CURRENCY)


def _having(having: Sequence[Filter], metrics: Sequence[SelectedMetric]) -> Fragment:
    fields = {m.name: FilterField(ColumnType.DECIMAL, f"m{i}") for i, m in enumerate(metrics)}
    return compile_conditions(having, fields, "the metrics of the query", "having", "h")


def _check_shared(
    metrics: Sequence[str | MetricTerm], dimensions: Sequence[str], goals: Sequence[GoalStep]
) -> None:
    """Forbidden when a metrics query asks for more than a shared dashboard shows."""
    for dimension in dimensions:
        if not dimension.startswith(TIME_PREFIX):
            check_shared_field(dimension)
    if not LEDGER_METRIC_NAMES.isdisjoint(metric for metric in metrics if isinstance(metric, str)):
        raise Forbidden("A shared dashboard does not show what was received and not stored")
    if any(not isinstance(metric, str) for metric in metrics):
        raise Forbidden("A shared dashboard takes metrics by their names only")
    check_shared_steps(goals)


def _check_tables(query: MetricsQuery) -> None:
    """Malformed when the rows of a metric do not have a dimension or a filtered field."""
    dimensions = {d.name: d.tables for d in query.dimensions}
    filtered = query.fields_filtered
    shown = {name: GOAL if name.startswith(PREFIX) else name for name in filtered}
    fields = dimensions | {shown[name]: tables_with(name) for name in sorted(filtered)}
    for selected in query.metrics:
        for table in selected.metric.tables:
            for name, tables in fields.items():
                if table.name not in tables:
                    raise Malformed(
                        f"The metric '{selected.name}' is of table '{table.name}', whose rows have "
                        f"no '{shorten(name)}'; leave out one of them, or ask in two queries"
                    )


def _check_points(query: MetricsQuery) -> None:
    """Malformed when the result has a row for every bucket, and there are too many.

    Otherwise the rows are those with data, and only their number is limited.
    """
    if not query.is_series:
        return
    count = query.query.time_range.point_count(query.by_buckets[0])
    if count > MAX_POINTS:
        raise Malformed(
            f"The query needs a row for each of the {count:,} buckets of "
            f"'{query.dimensions[0].name}'; at most {MAX_POINTS:,} are allowed; use a shorter "
            "time range or a coarser part of time; 'having' leaves only buckets with data, as in "
            "[{'field': 'events', 'operator': 'gt', 'value': 0}]"
        )
