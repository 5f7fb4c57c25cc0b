"""Compiles a metrics query to SQL: a CTE for each source of parts, joined by the dimensions.

The CTEs have the same columns: `d0`, `d1`, ... for the dimensions, then every part, NULL where it
is of another source. Their union is grouped by the dimensions again, so that a value that only one
source has gets a row as well; formulas of the metrics make `m0`, `m1`, ... of the parts.
"""

from collections.abc import Mapping, Sequence

from msgspec import structs

from query.engine.engine import Engine, Sql
from query.metrics.dimensions import Dimension
from query.metrics.metric import Metric, Part, Source
from query.metrics.table_sources import group_by, grouped, row_ctes
from query.metrics.visit_sources import VISIT_SOURCES, visit_ctes
from query.request.time_range import TimeRange
from query.scope.scope import MS, Scope
from query.scope.visitor_facts import FIRST_SEEN, IS_NEW
from query.scope.visitor_times import seen_range
from query.sql.fragment import Fragment, merge_values
from query.sql.portable import names_in
from query.sql.select import Cte, ResultForm
from query.standard.declaration.statement import Statement
from query.standard.statement import build_statement
from schemas.tables import EVENTS


async def compile_query(
    engine: Engine,
    scopes: Mapping[str, Scope],
    dimensions: Sequence[Dimension],
    metrics: Sequence[Metric],
    form: ResultForm | None,
    values: Fragment,
) -> Sql:
    """The statement for one form of the result, with the bound values of that form.

    `scopes` are by table: one for each table that the metrics read.
    """
    first = next(iter(scopes.values()))
    history = seen_range(first)
    dimensions = [d.bucketed(history, i) for i, d in enumerate(dimensions)]
    statement = compile_statement(first.time_range, dimensions, metrics)
    bound = merge_values(statement.values, values.values)
    statement = structs.replace(statement, form=form, values=bound)
    return await build_statement(engine, scopes.get(EVENTS.name, first), statement, scopes)


def compile_statement(
    time_range: TimeRange, dimensions: Sequence[Dimension], metrics: Sequence[Metric]
) -> Statement:
    """The rows of the result, in no order."""
    by_name = {part.name: part for metric in metrics for part in metric.parts}
    parts = [new_in_buckets(part, dimensions, time_range) for part in by_name.values()]
    sources = [source for source in Source if any(part.source is source for part in parts)]
    by_row = [d.of_row(time_range, i) for i, d in enumerate(dimensions)]
    ctes = row_ctes(by_row, sources, parts)
    if VISIT_SOURCES.keys() & {*sources}:
        ctes += visit_ctes(time_range, dimensions, sources)
    keys = [Fragment(f"d{i}") for i in range(len(dimensions))]
    ctes += [
        grouped(source, keys, parts, VISIT_SOURCES[source])
        for source in sources
        if source in VISIT_SOURCES
    ]
    ctes.append(_union(sources, len(dimensions), parts))
    values = [f"{metric.sql} AS m{i}" for i, metric in enumerate(metrics)]
    body = f"SELECT {', '.join([*_keys(len(dimensions)), *values])} FROM merged"  # noqa: S608
    bound: dict[str, object] = {}
    for dimension in by_row:
        bound |= dimension.values
    for part in parts:
        bound |= part.values
    return Statement(sql=body, ctes=tuple(ctes), values=bound)


def _union(sources: Sequence[Source], keys: int, parts: Sequence[Part]) -> Cte:
    """One row for each combination of values, with all parts."""
    union = " UNION ALL ".join(f"SELECT * FROM {source}" for source in sources)  # noqa: S608
    columns = [*_keys(keys), *(f"MAX({part.name}) AS {part.name}" for part in parts)]
    sql = f"SELECT {', '.join(columns)} FROM ({union}) AS sources{group_by(keys)}"  # noqa: S608
    return Cte("merged", sql)


def _keys(count: int) -> list[str]:
    return [f"d{i}" for i in range(count)]


def new_in_buckets(part: Part, dimensions: Sequence[Dimension], time_range: TimeRange) -> Part:
    """The part for rows that are grouped by buckets of time, with new visitors in one bucket each.

    Any other part, and one that is not grouped by buckets, is returned as it is.
    """
    buckets = [(i, d) for i, d in enumerate(dimensions) if d.time and d.time.granularity]
    if not buckets or IS_NEW.column not in names_in(part.sql):
        return part
    conditions, values = [IS_NEW.column], dict(part.values)
    for position, dimension in buckets:
        first = dimension.at(FIRST_SEEN.column, time_range, position).with_prefix("first_")
        values |= first.values
        conditions.append(f"{first.text} = {dimension.at(MS, time_range, position).text}")
    is_new = f"({' AND '.join(conditions)})"
    return structs.replace(part, sql=part.sql.replace(IS_NEW.column, is_new), values=values)
