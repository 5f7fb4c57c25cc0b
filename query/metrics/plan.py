"""The plan of a metrics query: its dimensions are groups, its metrics are values."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from query.engine.engine import Engine, Sql
from query.formats.columns import ColumnKind, group_kind
from query.metrics.compile import compile_query
from query.metrics.conditions import compile_filters
from query.metrics.dimensions import Dimension
from query.metrics.metric import DECIMALS, Unit
from query.metrics.query import MetricsQuery
from query.metrics.rollup_plan import rollup_plan_of
from query.metrics.segments import SelectedSegment, compile_segments
from query.prepared.not_prepared import NotPrepared
from query.request.query import Query
from query.response.bodies import ResultWarning
from query.run.groups import GroupedPlan, Output, OutputOrder
from query.run.plan import Source, Versions
from query.scope.scope import Scope
from query.sql.fragment import Fragment
from query.sql.select import ResultForm
from query.standard.statement import build_statement
from schemas.registry import PathGroup
from schemas.runtime.clock import format_instant
from schemas.tables import EVENTS, IDENTITIES, ColumnType, Table

SHOWN: Mapping[ColumnType, Callable[[Any], Any]] = {
    ColumnType.TIMESTAMP: format_instant,
    ColumnType.DECIMAL: float,
}


def plan_of(query: MetricsQuery) -> GroupedPlan:
    """The plan of a validated query."""
    outputs = list(query.columns)
    try:
        rollup_plan, reason = rollup_plan_of(query), ""
    except NotPrepared as error:
        rollup_plan, reason = None, str(error)
    return GroupedPlan(
        query=query.query,
        name="metrics",
        file_name="metrics",
        groups=tuple(_group(d, query.columns[d.name]) for d in query.dimensions),
        values=tuple(
            Output(
                selected.name,
                f"m{i}",
                ColumnKind.INTEGER if selected.metric.unit is Unit.COUNT else ColumnKind.NUMBER,
                None if selected.metric.unit is Unit.COUNT else _rounded,
                of_nothing=selected.metric.of_nothing,
            )
            for i, selected in enumerate(query.metrics)
        ),
        having=query.having,
        order=tuple(
            OutputOrder(outputs.index(t.field), t.direction == "desc") for t in query.order
        ),
        tables=list(dict.fromkeys([*query.tables, *query.further_tables])),
        compile=partial(_compile, query),
        scope=partial(_scope_of, query.tables[0]),
        warnings=partial(_warnings, query) if query.checks else None,
        has_every_bucket=query.is_series,
        rollup_plan=rollup_plan,
        not_prepared=reason,
    )


def _group(dimension: Dimension, column: str) -> Output:
    time = dimension.time
    labels = time.granularity if time else dimension.bucket
    is_bucket = time is not None and time.granularity is not None
    kind = group_kind(dimension.type, is_bucket)
    show = SHOWN.get(dimension.type)
    return Output(dimension.name, column, kind, show, labels, is_time=time is not None)


def _rounded(value: Any) -> float:
    return round(float(value), DECIMALS) + 0.0  # which makes 0 of -0


async def _compile(
    metrics: MetricsQuery,
    engine: Engine,
    query: Query,
    versions: Versions,
    form: ResultForm,
    values: Fragment,
) -> Sql:
    selected = [metric.metric for metric in metrics.metrics]

    async def compile_one(
        query: Query, dimensions: Sequence[Dimension], form: ResultForm | None, values: Fragment
    ) -> Sql:
        scopes = {table.name: _scope_of(table, query, versions) for table in metrics.tables}
        return await compile_query(engine, scopes, dimensions, selected, form, values)

    async def compile_segment(segment: SelectedSegment) -> Sql:
        filtered = structs.replace(query, filters=[*query.filters, *segment.filters])
        return await compile_one(filtered, metrics.dimensions[:-1], None, Fragment())

    if not metrics.segments:
        return await compile_one(query, metrics.dimensions, form, values)
    columns = [*metrics.columns.values()]
    return await compile_segments(engine, metrics.segments, columns, compile_segment, form, values)


def _scope_of(table: Table, query: Query, versions: Versions) -> Scope:
    """The rows of a table that the query may see."""
    conditions = compile_filters(query.filters, query.time_range, table, query.subject.saved)
    return Scope(
        pinned=versions[table.name],
        subject_column=table.subject_column,
        subjects=query.subject.ids,
        hidden=query.subject.hidden,
        path_groups=query.subject.saved.of(PathGroup),
        time_range=query.time_range,
        where=conditions.where,
        visit_where=conditions.visit_where,
        session_where=conditions.session_where,
        events=versions.get(EVENTS.name),
        include_bots=query.include_bots,
        identities=versions.get(IDENTITIES.name),
        by_profile=query.by_profile,
    )


async def _warnings(metrics: MetricsQuery, query: Query, source: Source) -> Sequence[ResultWarning]:
    """What the values of the result leave out or cannot show."""
    scope = _scope_of(EVENTS, query, source.versions)
    warnings: dict[str, ResultWarning] = {}
    for check in metrics.checks:
        sql = await build_statement(source.engine, scope, check.statement, {EVENTS.name: scope})
        for row in await source.rows(sql):
            warnings |= {warning.message: warning for warning in check.warnings(row)}
    return list(warnings.values())
