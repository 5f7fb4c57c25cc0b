"""The plan of a custom query: its aggregates are values by the groups of `groupBy`."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from msgspec import structs

from query.custom.compiler import compile_query
from query.custom.request import MAX_DAYS, CustomRequest
from query.custom.rollup_plan import rollup_plan_of
from query.custom.scope import RowAccess, custom_scope, row_access, tables_of_visitors
from query.custom.tables import CustomColumn
from query.custom.validation import SelectedValue, ValidatedQuery, validate
from query.engine.engine import Engine, Sql
from query.formats.columns import COLUMN_KINDS, ColumnKind, group_kind
from query.prepared.not_prepared import NotPrepared
from query.request.comparison_range import comparison_range
from query.request.query import PageOptions, Query
from query.request.segments import expand_segments
from query.request.subject import QuerySubject
from query.request.time_parameters import parse_time_range
from query.request.time_range import check_time_zone
from query.run.groups import GroupedPlan, Output
from query.run.plan import Versions
from query.scope.scope import Scope
from query.sql.aggregates import ResultType
from query.sql.fragment import Fragment
from query.sql.select import ResultForm
from schemas.registry import Key
from schemas.runtime.clock import format_instant
from schemas.tables import ColumnType

DECIMALS = 6
"""Decimals of a mean, a quantile or a sum of fractions."""


def parse_request(
    body: CustomRequest,
    subject: QuerySubject,
    key: Key,
    zone: str | None,
    now_ms: int,
    prepared: bool = True,
) -> GroupedPlan:
    """The plan of a body; `zone` of the query string overrides the body's time zone."""
    filters = expand_segments(body.query.filters, subject.saved, "query.filters")
    expanded = structs.replace(body.query, filters=filters)
    validated = validate(expanded)
    table = validated.table
    access = row_access(table, subject, key)
    name = check_time_zone("timezone", zone or body.timezone or subject.time_zone)
    dates = (body.start_date, body.end_date, body.preset)
    time_range = parse_time_range(*dates, name, now_ms, MAX_DAYS)
    if validated.granularity is not None:
        time_range.points(validated.granularity)  # Malformed for too many
    compared = None
    if body.compare is not None:
        compared = comparison_range(body.compare, time_range, now_ms, MAX_DAYS, body.preset)
    query = Query(
        subject=subject,
        time_range=time_range,
        now_ms=now_ms,
        filters=body.query.filters,
        include_bots=body.include_bots,
        by_profile=body.person == "profile",
        prepared=prepared,
        as_of=body.as_of,
        page=PageOptions(body.page, body.limit),
        comparison_range=compared,
    )
    try:
        rollup_plan, reason = rollup_plan_of(expanded, validated, time_range), ""
    except NotPrepared as error:
        rollup_plan, reason = None, str(error)
    scope = partial(_scope_of, validated, access)
    return GroupedPlan(
        query=query,
        name="custom",
        file_name=table.name,
        groups=tuple(_group(group, f"o{i}") for i, group in enumerate(validated.groups)),
        values=tuple(
            _value(select, f"o{len(validated.groups) + i}")
            for i, select in enumerate(validated.selects)
        ),
        having=validated.having,
        order=validated.order,
        tables=tuple(dict.fromkeys((*validated.tables, *tables_of_visitors(query, table)))),
        compile=partial(_compile, validated, scope),
        scope=scope,
        rollup_plan=rollup_plan,
        not_prepared=reason,
        in_custom_pool=True,
    )


def _group(group: CustomColumn, column: str) -> Output:
    kind = group_kind(group.type, group.granularity is not None)
    is_time = group.granularity is not None or group.date_part is not None
    return Output(group.name, column, kind, _shown(group.type), group.granularity, is_time)


def _value(select: SelectedValue, column: str) -> Output:
    if select.aggregate.name in ("count", "uniq"):
        return Output(select.alias, column, ColumnKind.INTEGER, of_nothing=0)
    if select.aggregate.result is ResultType.SAME and select.column is not None:
        type_ = select.column.type
        return Output(select.alias, column, COLUMN_KINDS[type_], _shown(type_))
    return Output(select.alias, column, ColumnKind.NUMBER, _number)


def _shown(type_: ColumnType) -> Callable[[Any], Any]:
    return format_instant if type_ is ColumnType.TIMESTAMP else _number


def _number(value: Any) -> Any:
    return round(float(value), DECIMALS) if isinstance(value, Decimal | float) else value


def _scope_of(
    validated: ValidatedQuery, access: RowAccess, query: Query, versions: Versions
) -> Scope:
    """The rows of its table that the query may see."""
    table, where = validated.table, validated.where
    return custom_scope(query, table, access, where, versions, query.by_profile)


async def _compile(
    validated: ValidatedQuery,
    scope: Callable[[Query, Versions], Scope],
    engine: Engine,
    query: Query,
    versions: Versions,
    form: ResultForm,
    values: Fragment,
) -> Sql:
    return await compile_query(engine, validated, scope(query, versions), form, values.values)
