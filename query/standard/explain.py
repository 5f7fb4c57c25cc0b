"""Explains standard queries: SQL, tables, engine, and whether prepared results answer them.

Data files hold rows of all tenants, so neither their number nor their size is shown, only the rows
of the subject itself.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial

from msgspec import UNSET, Struct, structs

from query.dependencies import QueryDependencies
from query.engine.deadline import timeout_error
from query.engine.engine import Engine, Sql
from query.engine.snapshots import PinnedVersion, PinnedVersions
from query.prepared.not_prepared import NotPrepared
from query.request.query import Query
from query.request.time_range import TimeRange
from query.response.compiled_bodies import (
    CompiledQueries,
    CompiledQuery,
    FurtherStatement,
    TableScan,
)
from query.response.response_budget import ResponseBudget
from query.scope.scope import Scope, scoped_rows
from query.sql.fragment import Fragment
from query.sql.select import Select, render
from query.standard.batch import prepare_with_engine
from query.standard.comparison import check_comparable
from query.standard.execute import page_statement
from query.standard.page_keys import MAX_KEYS
from query.standard.prepared_query import PreparedQuery
from query.standard.query_types import tables_read
from query.standard.request import StandardRequest
from query.standard.statement import build_statement
from schemas.errors import ApiError
from schemas.runtime.clock import format_instant, parse_instant_ms
from schemas.tables import Table

FILES_PARAMETER = "parts"
"""The end of the names of bound values with the paths of data files."""


async def explain_queries(
    dependencies: QueryDependencies, request: StandardRequest, budget: ResponseBudget
) -> CompiledQueries:
    """An entry for each query, all from one version of each table."""
    tables = {table.name: table for query in request.queries for table in tables_read(query)}
    return await dependencies.snapshots.with_pinned(
        list(tables.values()),
        request.queries[0].as_of,
        partial(_explain_pinned, dependencies, request.queries, budget),
    )


async def _explain_pinned(
    dependencies: QueryDependencies,
    queries: Sequence[Query],
    budget: ResponseBudget,
    pinned: PinnedVersions,
) -> CompiledQueries:
    explanation = Explanation(dependencies, budget, pinned, {})
    entries = [await explanation.entry(query) for query in queries]
    failed = sum(not entry.success for entry in entries)
    return CompiledQueries(success=True, failed=failed, data=entries)


class Explanation(Struct, frozen=True):
    """Explains the queries of one request; the rows of a table are counted once."""

    dependencies: QueryDependencies
    budget: ResponseBudget
    pinned: PinnedVersions
    counted: dict[tuple[Table, TimeRange], int]

    async def entry(self, query: Query) -> CompiledQuery:
        """What the query would do, or its error."""
        try:
            slot = self.dependencies.active.slot(query.subject.tenant, self.budget.ends)
            async with asyncio.timeout_at(self.budget.ends), slot:
                return await self._explained(query)
        except ApiError as error:
            failure = error
        except TimeoutError:
            failure = timeout_error()
        return CompiledQuery(query.label, False, error=failure.message, code=failure.code)

    async def _explained(self, query: Query) -> CompiledQuery:
        self.budget.check()
        for table in tables_read(query):
            if (damaged := self.pinned.damaged.get(table.name)) is not None:
                raise damaged
        engine, prepared = prepare_with_engine(
            query, self.pinned.versions, self.dependencies, self.budget
        )
        if query.comparison_range is not None:
            check_comparable(prepared)
        sql = await statement_of(prepared)
        reason = await not_prepared_reason(prepared)
        return CompiledQuery(
            query.label,
            True,
            sql=sql.text,
            values=shown_values(sql),
            tables=[
                TableScan(table.name, self._version(table).version.number, rows)
                for table in tables_read(query)
                for rows in [await self._rows(prepared, table)]
            ],
            further=list(further_statements(prepared, is_prepared=not reason)) or UNSET,
            engine=engine.reported_name,
            prepared=not reason,
            reason=reason or UNSET,
        )

    def _version(self, table: Table) -> PinnedVersion:
        return self.pinned.versions[table.name]

    async def _rows(self, prepared: PreparedQuery, table: Table) -> int:
        scope = prepared.scope
        key = table, scope.time_range
        if key not in self.counted:
            own = structs.replace(scope, subject_column=table.subject_column)
            self.counted[key] = await subject_rows(
                prepared.engine, own, self._version(table), self.budget.seconds
            )
        return self.counted[key]


async def statement_of(prepared: PreparedQuery) -> Sql:
    """The statement that gives the rows of a page; Malformed for too many buckets."""
    query_type = prepared.query_type
    if query_type.series:
        _ = prepared.points
    in_python = query_type.series or prepared.statement.rows_in_python is not None
    statement = prepared.statement if in_python else page_statement(prepared)
    return await build_statement(prepared.engine, prepared.bucket_scope, statement, prepared.scopes)


async def not_prepared_reason(prepared: PreparedQuery) -> str:
    """Why prepared results do not answer a query; empty when they do.

    Asks them for the rows, as the query does: what is joined stays in memory for it.
    """
    try:
        await prepared.prepared_rows()
    except NotPrepared as reason:
        return str(reason)
    return ""


def further_statements(prepared: PreparedQuery, *, is_prepared: bool) -> Iterator[FurtherStatement]:
    """What runs besides the statement, and depends on rows."""
    listing, page = prepared.query_type.listing, prepared.query.page
    limit, offset = page.limit_offset(
        prepared.query_type.default_limit, prepared.query_type.max_limit
    )
    keys, fields = prepared.page_keys, [order.field for order in page.order]
    if keys is not None and keys.can_order_by(fields) and limit + offset <= MAX_KEYS:
        yield "page_keys"
    if listing.newest_rows is not None and not page.order:
        yield "newest_rows"
    if listing.nested_lists:
        yield "nested_lists"
    if prepared.query.comparison_range is not None:
        yield "comparison"
    if is_prepared and prepared.stored_columns is not None:
        yield "stored_columns"


async def subject_rows(engine: Engine, scope: Scope, pinned: PinnedVersion, seconds: float) -> int:
    """Rows of the subject in the time range in that version, before any filter."""
    everything = structs.replace(
        scope,
        pinned=pinned,
        where=Fragment(),
        visit_where=Fragment(),
        later=Fragment(),
        include_bots=True,
        by_profile=False,
        names_person=False,
    )
    scoped = await scoped_rows(engine, everything, [])
    count = Select(relations=scoped.relations, body="SELECT COUNT(*) FROM scoped")
    [(rows,)] = await engine.rows(Sql(render(count, engine.dialect), scoped.values), seconds)
    return int(rows)


def shown_values(sql: Sql) -> dict[str, object]:
    """The bound values as JSON, without the paths of data files."""
    return {
        name: _shown(value)
        for name, value in sql.values.items()
        if name.split("_")[-1] != FILES_PARAMETER
    }


def _shown(value: object) -> object:
    if isinstance(value, list):
        return [_shown(element) for element in value]
    if isinstance(value, datetime):
        return format_instant(parse_instant_ms(value.isoformat()))
    return float(value) if isinstance(value, Decimal) else value
