"""Compiles a metrics query to SQL: a CTE for each source of parts, joined by the dimensions.

The CTEs have the same columns: `d0`, `d1`, ... for the dimensions, then every part, NULL where it
is of another source. Their union is grouped by the dimensions again, so that a value that only one
source has gets a row as well; formulas of the metrics make `m0`, `m1`, ... of the parts.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from query.engine.engine import Engine, Sql
from query.metrics.dimensions import Dimension
from query.metrics.metric import Metric, Part, Source
from query.metrics.new_visitors import new_in_buckets
from query.metrics.table_sources import group_by, grouped, relation_of, row_ctes
from query.metrics.visit_sources import VISIT_SOURCES, visit_ctes
from query.request.time_range import TimeRange
from query.response.worker_threads import run_in_worker
from query.scope.scope import (
    SCOPED,
    Scope,
    ScopedRelations,
    WantedRelation,
    scoped_relations,
)
from query.scope.session_rows import session_rows
from query.scope.visitor_times import seen_range
from query.scope.visits import NamesRead, names_read
from query.sql.fragment import Fragment, merge_values
from query.sql.select import Cte, Relation, ResultForm, Select, render
from query.standard.declaration.statement import columns_used
from query.standard.statement import OF_MATCHING_VISITS, TEXT_PER_ROW, VISIT_ROWS


class CompiledBody(Struct, frozen=True):
    """The CTEs and the SELECT over the relations of the tables and `visit_rows`."""

    ctes: tuple[Cte, ...]
    body: str
    values: dict[str, object]

    @property
    def read(self) -> NamesRead:
        """What it names."""
        return names_read((self.body, *(cte.sql for cte in self.ctes)))


async def compile_query(
    engine: Engine,
    scopes: Mapping[str, Scope],
    dimensions: Sequence[Dimension],
    metrics: Sequence[Metric],
    form: ResultForm,
    values: Fragment,
) -> Sql:
    """The statement for one form of the result, with the bound values of that form.

    `scopes` are by table: one for each table that the metrics read.
    """
    first = next(iter(scopes.values()))
    history = seen_range(first)
    dimensions = [d.bucketed(history, i) for i, d in enumerate(dimensions)]
    compiled = compile_body(first.time_range, dimensions, metrics)
    relations = await _relations(engine, scopes, compiled.read)
    select = Select(
        relations=relations.relations, ctes=compiled.ctes, body=compiled.body, form=form
    )
    bound = merge_values(relations.values, compiled.values, values.values)
    size = sum(len(cte.sql) for cte in compiled.ctes) // TEXT_PER_ROW
    return Sql(await run_in_worker(size, partial(render, select, engine.dialect)), bound)


async def _relations(
    engine: Engine,
    scopes: Mapping[str, Scope],
    read: NamesRead,
) -> ScopedRelations:
    """The relations that a statement with these names reads."""
    names = read.names
    named = {relation_of(scope.table): scope for scope in scopes.values()}
    of_events = named.get(SCOPED, next(iter(scopes.values())))
    of_sessions = session_rows(engine, of_events, names, VISIT_ROWS)
    names |= of_sessions.names
    if VISIT_ROWS in names and named[SCOPED].where.text:
        named[VISIT_ROWS] = structs.replace(named[SCOPED], where=Fragment(OF_MATCHING_VISITS))
    wanted = {
        name: WantedRelation(one, columns_used(one.table, names)) for name, one in named.items()
    }
    scoped = await scoped_relations(engine, {**wanted, **of_sessions.sources}, read.facts)
    relations: list[Relation | Cte] = list(scoped.relations)
    if VISIT_ROWS in names and VISIT_ROWS not in named:
        relations.append(Cte(VISIT_ROWS, f"SELECT * FROM {SCOPED}"))  # noqa: S608
    relations += of_sessions.ctes
    return ScopedRelations(tuple(relations), scoped.values)


def compile_body(
    time_range: TimeRange, dimensions: Sequence[Dimension], metrics: Sequence[Metric]
) -> CompiledBody:
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
    return CompiledBody(tuple(ctes), body, bound)


def _union(sources: Sequence[Source], keys: int, parts: Sequence[Part]) -> Cte:
    """One row for each combination of values, with all parts."""
    union = " UNION ALL ".join(f"SELECT * FROM {source}" for source in sources)  # noqa: S608
    columns = [*_keys(keys), *(f"MAX({part.name}) AS {part.name}" for part in parts)]
    sql = f"SELECT {', '.join(columns)} FROM ({union}) AS sources{group_by(keys)}"  # noqa: S608
    return Cte("merged", sql)


def _keys(count: int) -> list[str]:
    return [f"d{i}" for i in range(count)]
