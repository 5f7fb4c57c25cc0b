"""Executes a metrics query: the rows of one page, as SQL gives them."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from query.engine.engine import Engine, Row
from query.engine.snapshots import PinnedVersion
from query.metrics.compile import compile_query
from query.metrics.conditions import compile_filters
from query.metrics.query import MetricsQuery
from query.metrics.result_rows import filled, sorted_rows
from query.request.query import MAX_ROWS
from query.response.bodies import ResultWarning
from query.response.response_budget import ResponseBudget
from query.scope.scope import Scope
from query.sql.fragment import Fragment, merge_values
from query.sql.result_forms import Count, Page
from query.sql.select import ResultForm
from query.standard.statement import build_statement
from schemas.tables import EVENTS, IDENTITIES, Table
from schemas.telemetry.spans import child_span

Versions = Mapping[str, PinnedVersion]
"""The version of each table, by its name."""


class MetricsResult(Struct, frozen=True):
    """The rows of one page, dimensions before metrics, and the number of rows on all pages."""

    rows: Sequence[Row]
    total: int


class PreparedMetrics(Struct, frozen=True):
    """A query with what it reads; all its SQL shares the time of the budget."""

    query: MetricsQuery
    versions: Versions
    engine: Engine
    budget: ResponseBudget

    async def fetch(self, form: ResultForm, values: Fragment) -> list[Row]:
        """The rows that the engine gives for one form of the result."""
        query = self.query
        scopes = scopes_of(query, self.versions)
        metrics = [selected.metric for selected in query.metrics]
        with child_span("statement"):
            sql = await compile_query(self.engine, scopes, query.dimensions, metrics, form, values)
        return await self.engine.rows(sql, self.budget.seconds)

    async def warnings(self) -> Sequence[ResultWarning]:
        """What the values of the result leave out or cannot tell."""
        found: dict[str, ResultWarning] = {}
        for check in self.query.checks:
            scope = _scope_of(self.query, EVENTS, self.versions)
            sql = await build_statement(self.engine, scope, check.statement, {EVENTS.name: scope})
            for row in await self.engine.rows(sql, self.budget.seconds):
                found |= {warning.message: warning for warning in check.warnings(row)}
        return list(found.values())


def scopes_of(query: MetricsQuery, versions: Versions) -> Mapping[str, Scope]:
    """The rows that the query may see of each table that its metrics read, by table name."""
    return {table.name: _scope_of(query, table, versions) for table in query.tables}


def _scope_of(query: MetricsQuery, table: Table, versions: Versions) -> Scope:
    conditions = compile_filters(
        query.query.filters, query.query.time_range, table, query.query.subject.saved
    )
    return Scope(
        pinned=versions[table.name],
        subject_column=table.subject_column,
        subjects=query.query.subject.ids,
        time_range=query.query.time_range,
        where=conditions.where,
        visit_where=conditions.visit_where,
        session_where=conditions.session_where,
        events=versions.get(EVENTS.name),
        include_bots=query.query.include_bots,
        identities=versions.get(IDENTITIES.name),
        by_profile=query.query.by_profile,
    )


async def execute(prepared: PreparedMetrics) -> MetricsResult:
    """One page of the result."""
    query = prepared.query
    limit, offset = query.limit_offset
    if query.is_series:
        bounds = Fragment(values={"limit": MAX_ROWS, "offset": 0})
        rows = await prepared.fetch(Page(order=_order_terms(query)), bounds)
        series = sorted_rows(query, filled(query, rows, query.points))
        return MetricsResult(series[offset : offset + limit], len(series))
    form = Page(order=_order_terms(query), where=query.having.text)
    bound = merge_values(query.having.values, {"limit": limit, "offset": offset})
    rows = await prepared.fetch(form, Fragment(values=bound))
    total = rows[0][-1] if rows else 0
    if not rows and offset:
        [(total,)] = await prepared.fetch(Count(where=query.having.text), query.having)
    return MetricsResult([row[:-1] for row in rows], total)


def _order_terms(query: MetricsQuery) -> tuple[str, ...]:
    columns = query.columns
    return tuple(f"{columns[t.field]} {t.direction.upper()} NULLS LAST" for t in query.order)
