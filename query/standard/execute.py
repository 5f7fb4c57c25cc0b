"""Executes one standard query: SQL to rows, series filled with zeros, sorted, paged.

The engine sorts and pages most results. A series, and the rows that a type makes in Python, are
computed as a whole first and then sorted and paged here.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from msgspec import Struct, structs

from query.engine.engine import ColumnEngine, Engine, Row
from query.engine.snapshots import PinnedVersion
from query.prepared.array_rows import ArrayRows
from query.prepared.forms import PreparedForm
from query.prepared.prepared_results import NotPrepared, PreparedResults
from query.prepared.text_filters import keeps_all, kept_shares
from query.request.body import convert
from query.request.query import MAX_ROWS, Query
from query.request.time_range import Granularity, SeriesPoint, TimeRange
from query.response.worker_threads import run_in_worker
from query.scope.scope import Scope
from query.sql.fragment import Fragment
from query.sql.result_forms import Count, Page
from query.standard import sort_order
from query.standard.declaration.fields import ABSENT, FieldSpec, field_specs, no_low, to_row
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.nested_lists import fill_nested_lists
from query.standard.page_keys import PageKeys, find_page_keys
from query.standard.prepared_keys import find_prepared_keys
from query.standard.query_types import find_query_type
from query.standard.scope import scopes_of
from query.standard.shared_queries import check_shared_options
from query.standard.statement import build_statement
from schemas.telemetry.instruments import PREPARED_ANSWERS
from schemas.telemetry.spans import child_span, note

NO_FORM = "rows of this query type are not prepared"
SWITCHED_OFF = "prepared results are switched off"
OTHER_ENGINE = "another engine than DuckDB reads the stored rows"

OTHER_FILTERS = "filters on other fields than those of the list read the stored rows"
EMPTY_OR_NULL = "the filter tells empty texts from NULL, which the list does not"


class QueryResult(Struct, frozen=True):
    """The rows of one page and the number of rows on all pages."""

    rows: Sequence[Struct]
    total: int
    """Rows of all pages."""
    positions: Sequence[int] = ()
    """Position of each row among those of all pages before sorting, from 0."""
    prepared: bool = False
    """Whether the rows come from prepared results."""


class PreparedQuery(Struct, frozen=True):
    """A query with its statement and scopes; all its SQL shares the time until the deadline."""

    query: Query
    query_type: QueryType
    statement: Statement
    scopes: Mapping[str, Scope]
    """By table name."""
    engine: Engine
    deadline: float
    """In the time of the event loop."""
    results: PreparedResults | None = None
    """Prepared results, where there are any."""
    form: PreparedForm | None = None
    """How the rows are made from them; None when they cannot be."""
    nothing_is_none: bool = False
    """Whether a ratio of nothing is None rather than 0: in rows that others are compared with."""

    @property
    def seconds_left(self) -> float:
        """Time until the deadline."""
        return max(0.0, self.deadline - asyncio.get_running_loop().time())

    @property
    def scope(self) -> Scope:
        """The scope in the type's own table."""
        return self.scopes[self.query_type.table.name]

    @property
    def time_range(self) -> TimeRange:
        """The time range of the result; rows may be read of a longer one."""
        return self.query_type.time_range_override(self.query.time_range, self.query.now_ms)

    @property
    def granularity(self) -> Granularity:
        """Width of the buckets."""
        return self.statement.granularity or self.scope.granularity

    @property
    def bucket_scope(self) -> Scope:
        """The scope with the bucket width of the statement."""
        return structs.replace(self.scope, granularity=self.granularity)

    @property
    def points(self) -> list[SeriesPoint]:
        """Every bucket of the time range."""
        return self.time_range.points(self.granularity)

    def to_rows(self, rows: Sequence[Row]) -> list[Struct]:
        """Rows of the result from rows of SQL."""
        specs = field_specs(self.query_type.row)
        if self.nothing_is_none:
            specs = {name: spec.or_none for name, spec in specs.items()}
        if self.statement.absent:
            specs = {**specs, **dict.fromkeys(self.statement.absent, ABSENT)}
        return [to_row(self.query_type.row, row, specs) for row in rows]

    async def prepared_rows(self) -> Sequence[Row]:
        """All rows of the statement from prepared results; NotPrepared says why there are none."""
        if self.form is None:
            raise NotPrepared(NO_FORM)
        return await self.rows_of(self.form)

    async def rows_of(self, form: PreparedForm) -> Sequence[Row]:
        """All rows of a form from prepared results; NotPrepared says why there are none."""
        engine = self.engine
        if self.results is None:
            raise NotPrepared(SWITCHED_OFF)
        if reason := reads_stored_rows(self.query):
            raise NotPrepared(reason)
        if not isinstance(engine, ColumnEngine) or not engine.gives_columns:
            raise NotPrepared(OTHER_ENGINE)
        keeps = keeps_all(self.query.filters, form.filter_fields)
        if keeps is None:
            raise NotPrepared(OTHER_FILTERS)
        scope = structs.replace(self.scope, where=Fragment(), visit_where=Fragment())
        rows = await self.results.rows(form, scope, self.granularity, engine, self.seconds_left)
        if not self.query.filters:
            return rows
        kept = await run_in_worker(len(rows), partial(kept_shares, rows, form.text_count, keeps))
        if kept is None:
            raise NotPrepared(EMPTY_OR_NULL)
        return kept

    async def fetch(self, statement: Statement) -> list[Row]:
        """The rows that the engine gives for a statement."""
        with child_span("statement"):
            sql = await build_statement(self.engine, self.bucket_scope, statement, self.scopes)
        return await self.engine.rows(sql, self.seconds_left)

    async def fetch_labelled(self, statement: Statement) -> list[Row]:
        """The rows of a statement, buckets of a sparse series as labels."""
        rows = await self.fetch(statement)
        if not self.query_type.sparse:
            return rows
        labels = {point.bucket: point.label for point in self.points}
        return [(labels[row[0]], *row[1:]) for row in rows]


def prepare(
    query: Query,
    versions: Mapping[str, PinnedVersion],
    engine: Engine,
    deadline: float,
    results: PreparedResults | None = None,
) -> PreparedQuery:
    """The query with its statement and scopes; Malformed when the request is wrong."""
    query_type = find_query_type(query.name, query.subject.kind)
    options = query_type.options and convert(query.options, query_type.options, query.path).resolve(
        query.subject.saved, query.path
    )
    if query.subject.shared_filters is not None:
        check_shared_options(query_type, options)
    statement = query_type.statement(options)
    scopes = scopes_of(query, query_type, statement, versions)
    sort_order.check_order(query_type, query.page.order)
    form = query_type.prepared_form(options)
    return PreparedQuery(query, query_type, statement, scopes, engine, deadline, results, form)


def reads_stored_rows(query: Query) -> str:
    """Why a query cannot be answered from parts, which hold all rows of one website but bots'."""
    reasons = {
        "the request has prepared=false": not query.prepared,
        "parts have no rows of bots": query.include_bots,
        "parts tell devices, not persons": query.by_profile,
        "parts are of single websites": len(query.subject.ids) != 1,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


async def execute(prepared: PreparedQuery) -> QueryResult:
    """One page of the result."""
    query_type = prepared.query_type
    with suppress(NotPrepared):
        known = await prepared.prepared_rows()
        note({"tidemark.prepared": True})
        points = prepared.points if query_type.series else []
        make = partial(_build_result, prepared, points, known)
        PREPARED_ANSWERS.labels("prepared").inc()
        return structs.replace(await run_in_worker(len(known) + len(points), make), prepared=True)
    if prepared.form is not None:
        PREPARED_ANSWERS.labels("rows").inc()
    page_keys = await _page_keys(prepared)
    if page_keys is not None:
        scopes = {**prepared.scopes, query_type.table.name: page_keys.scope}
        prepared = structs.replace(prepared, scopes=scopes)
    by_engine = not query_type.series and prepared.statement.rows_in_python is None
    result = await (_execute_paged(prepared) if by_engine else _execute_whole(prepared))
    rows = await with_nested_lists(prepared, result.rows)
    return structs.replace(result, rows=rows, total=page_keys.total if page_keys else result.total)


async def with_nested_lists(prepared: PreparedQuery, rows: Sequence[Struct]) -> Sequence[Struct]:
    """The rows of a page with their nested lists filled."""
    filled = list(rows)
    for nested in prepared.query_type.listing.nested_lists:
        filled = await fill_nested_lists(
            prepared.engine, nested, prepared.scopes, filled, prepared.seconds_left
        )
    return filled


async def _page_keys(prepared: PreparedQuery) -> PageKeys | None:
    """The keys of the page; None when the type or the order does not permit to find them first."""
    page, query_type = prepared.query.page, prepared.query_type
    key_query = query_type.listing.page_keys
    if key_query is None:
        return None
    last = sum(page.limit_offset(query_type.default_limit, query_type.max_limit))
    wanted = key_query, prepared.scope, page.order, last
    found = await find_prepared_keys(*wanted, prepared.rows_of, prepared.fetch)
    if found is not None:
        return found
    seconds = prepared.seconds_left
    return await find_page_keys(prepared.engine, *wanted, prepared.scopes, seconds)


async def _execute_paged(prepared: PreparedQuery) -> QueryResult:
    """The engine sorts and pages; each row ends with the number of rows of all pages."""
    rows = await prepared.fetch_labelled(page_statement(prepared))
    total = rows[0][-1] if rows else 0
    if not rows and prepared.query.page.number > 1:
        [(total,)] = await prepared.fetch(structs.replace(prepared.statement, form=Count()))
    return QueryResult(await run_in_worker(len(rows), partial(prepared.to_rows, rows)), total)


async def _execute_whole(prepared: PreparedQuery) -> QueryResult:
    """All rows are computed, sorted and paged here."""
    # before the SQL runs: there may be too many points
    points = prepared.points if prepared.query_type.series else []
    rows = await prepared.fetch_labelled(prepared.statement)
    return await run_in_worker(
        len(rows) + len(points), partial(_build_result, prepared, points, rows)
    )


def _build_result(
    prepared: PreparedQuery, points: Sequence[SeriesPoint], rows: Sequence[Row]
) -> QueryResult:
    query, query_type = prepared.query, prepared.query_type
    if query_type.series:
        rows = fill_series(rows, points, field_specs(query_type.row))
    if (rows_in_python := prepared.statement.rows_in_python) is not None:
        rows = rows_in_python(rows, prepared.time_range, query.now_ms)
    default_limit = MAX_ROWS if query_type.series else query_type.default_limit
    limit, offset = query.page.limit_offset(default_limit, query_type.max_limit)
    if not query.page.order:
        positions = range(len(rows))[offset : offset + limit]
        return QueryResult(prepared.to_rows(rows[offset : offset + limit]), len(rows), positions)
    if isinstance(rows, ArrayRows):
        orders = [(term.field, term.direction == "asc") for term in query.page.order]
        return QueryResult(prepared.to_rows(rows.page(orders, offset, offset + limit)), len(rows))
    ordered = sort_order.sort_rows(enumerate(prepared.to_rows(rows)), query.page.order)
    page = ordered[offset : offset + limit]
    return QueryResult([row for _, row in page], len(ordered), [position for position, _ in page])


def page_statement(prepared: PreparedQuery) -> Statement:
    """The statement for one page; its last column is the number of rows of all pages."""
    statement, query_type, page = prepared.statement, prepared.query_type, prepared.query.page
    limit, offset = page.limit_offset(query_type.default_limit, query_type.max_limit)
    return structs.replace(
        statement,
        form=Page(order=tuple(sort_order.order_terms(query_type, page.order))),
        values={**statement.values, "limit": limit, "offset": offset},
    )


def fill_series(
    rows: Sequence[Row], points: Sequence[SeriesPoint], specs: Mapping[str, FieldSpec]
) -> list[Row]:
    """A row for every bucket of the time range, in order; zeros where nothing happened."""
    by_bucket = {row[0]: row[1:] for row in rows}
    zeros = [
        None if spec.is_of_nothing is no_low else 0
        for spec in list(specs.values())[1:]
        for _ in spec.suffixes
    ]
    return [(point.label, *by_bucket.get(point.bucket, zeros)) for point in points]
