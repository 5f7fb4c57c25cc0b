"""Executes one standard query: SQL to rows, series filled with zeros, sorted, paged.

The engine sorts and pages most results. A series, and the rows that a type makes in Python, are
computed as a whole first and then sorted and paged here.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from msgspec import Struct, structs

from query.engine.engine import Row
from query.prepared.array_rows import ArrayRows
from query.prepared.not_prepared import NotPrepared
from query.request.query import MAX_ROWS
from query.request.time_range import SeriesPoint
from query.response.worker_threads import run_in_worker
from query.sql.result_forms import Count, Page
from query.standard import sort_order
from query.standard.declaration.fields import FieldSpec, field_specs, no_low
from query.standard.declaration.statement import Statement
from query.standard.nested_lists import fill_nested_lists
from query.standard.newest_rows import find_newest_rows
from query.standard.page_keys import PageKeys, find_page_keys
from query.standard.prepared_keys import find_prepared_keys
from query.standard.prepared_query import PreparedQuery
from schemas.telemetry.instruments import PREPARED_ANSWERS
from schemas.telemetry.spans import note


class QueryResult(Struct, frozen=True):
    """The rows of one page and the number of rows on all pages."""

    rows: Sequence[Struct]
    total: int
    """Rows of all pages."""
    positions: Sequence[int] = ()
    """Position of each row among those of all pages before sorting, from 0."""
    prepared: bool = False
    """Whether the rows come from prepared results."""


async def execute(prepared: PreparedQuery) -> QueryResult:
    """One page of the result."""
    query_type = prepared.query_type
    with suppress(NotPrepared):
        known = prepared.labelled(await prepared.prepared_rows())
        note({"tidemark.prepared": True})
        points = prepared.points if query_type.series else []
        make = partial(_build_result, prepared, points, known)
        PREPARED_ANSWERS.labels("prepared").inc()
        return structs.replace(await run_in_worker(len(known) + len(points), make), prepared=True)
    if prepared.form is not None:
        PREPARED_ANSWERS.labels("rows").inc()
    prepared, page_keys = await _of_page(prepared)
    if page_keys is not None and not page_keys.total:
        return QueryResult((), 0)
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


async def _of_page(prepared: PreparedQuery) -> tuple[PreparedQuery, PageKeys | None]:
    """The query of the keys, or of the time, of its page; all of it when these are not found first.

    Pages that are found by prepared results are remembered with them.
    """
    page, query_type = prepared.query.page, prepared.query_type
    key_query, newest = prepared.page_keys, query_type.listing.newest_rows
    last = sum(page.limit_offset(query_type.default_limit, query_type.max_limit))
    if newest is not None and not page.order:
        return await find_newest_rows(prepared, newest, last)
    if key_query is None:
        return prepared, None
    wanted = key_query, prepared.bucket_scope, page.order, last
    of_parts = prepared.remembering
    found = await find_prepared_keys(*wanted, prepared.rows_of, of_parts.fetch)
    if found is not None:
        return of_parts.with_keys(found), found
    seconds = prepared.seconds_left
    found = await find_page_keys(prepared.engine, *wanted, prepared.scopes, seconds)
    return (prepared if found is None else prepared.with_keys(found)), found


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
