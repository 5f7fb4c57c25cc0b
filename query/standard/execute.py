"""Runs one standard question: rows shaped, series filled with zeros, sorted, paged.

Most answers are sorted and cut by the engine. A series, and what a type finishes in Python, are
made as a whole first.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct, structs

from query.engine.engine import Engine, Row
from query.request.order import OrderTerm
from query.request.time_range import SeriesPoint
from query.response.worker_threads import run_in_worker
from query.scope.scope import Scope
from query.standard import sort_order
from query.standard.declaration.fields import FieldSpec, field_specs, to_row
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Cte, Statement
from query.standard.nested_lists import fill_nested_lists
from query.standard.page_keys import PageKeys, find_page_keys
from query.standard.statement import build_statement

MAX_ROWS = 10_000


class PageOptions(Struct, frozen=True):
    """Which rows of the answer are wanted; without a limit the type's own holds."""

    number: int = 1
    limit: int | None = None
    order: Sequence[OrderTerm] = ()
    """What they are sorted by before the type's own order."""

    def limit_offset(self, default: int, most: int = MAX_ROWS) -> tuple[int, int]:
        """Limit and offset."""
        limit = min(self.limit or default, most)
        return limit, (self.number - 1) * limit


class QueryResult(Struct, frozen=True):
    """The rows of one page, and what there is besides."""

    rows: Sequence[Struct]
    total: int
    """Rows of all pages."""
    positions: Sequence[int] = ()
    """The place of each row among those of all pages before they were sorted, from 0."""


class PreparedQuery(Struct, frozen=True):
    """One question, ready to be asked; all its statements share the time until `ends`."""

    engine: Engine
    query_type: QueryType
    scope: Scope
    options: Any
    now_ms: int
    deadline: float
    """When its time is over, in the loop's time."""

    @property
    def seconds(self) -> float:
        """What is left of its time."""
        return max(0.0, self.deadline - asyncio.get_running_loop().time())

    @property
    def statement(self) -> Statement:
        """The type's SQL for the options."""
        return self.query_type.statement(self.options)

    def to_rows(self, rows: Sequence[Row]) -> list[Struct]:
        """Rows of the answer from rows of SQL."""
        shape = field_specs(self.query_type.row)
        return [to_row(self.query_type.row, row, shape) for row in rows]

    async def fetch(self, statement: Statement) -> list[Row]:
        """The rows of a statement as the engine gives them."""
        sql = await build_statement(self.engine, self.bucket_scope, statement)
        return await self.engine.rows(sql, self.seconds)

    async def fetch_labelled(self, statement: Statement) -> list[Row]:
        """The rows of a statement; a point in time gets its label."""
        rows = await self.fetch(statement)
        if not (self.query_type.starts_with_time and self.query_type.sparse):
            return rows
        labels = {point.bucket: point.label for point in self.points}
        return [(labels[row[0]], *row[1:]) for row in rows]

    @property
    def bucket_scope(self) -> Scope:
        """The scope, with the width of the buckets that the statement wants."""
        granularity = self.statement.granularity or self.scope.granularity
        return structs.replace(self.scope, granularity=granularity)

    @property
    def points(self) -> list[SeriesPoint]:
        """Every bucket of the span."""
        return self.bucket_scope.span.points(self.bucket_scope.granularity)


async def execute(work: PreparedQuery, page: PageOptions) -> QueryResult:
    """One page of the answer."""
    query_type = work.query_type
    sort_order.check_order(query_type, page.order)
    near = await _page_keys(work, page)
    if near is not None:
        work = structs.replace(work, scope=near.scope)
    by_engine = not query_type.series and work.statement.finish is None
    answer = await (_execute_paged(work, page) if by_engine else _execute_whole(work, page))
    rows = await with_nested_lists(work, answer.rows)
    return structs.replace(answer, rows=rows, total=near.total if near else answer.total)


async def with_nested_lists(work: PreparedQuery, rows: Sequence[Struct]) -> Sequence[Struct]:
    """The rows of a page with what is looked up for them alone."""
    found = list(rows)
    for detail in work.query_type.listing.nested_lists:
        found = await fill_nested_lists(work.engine, detail, work.scope, found, work.seconds)
    return found


async def _page_keys(work: PreparedQuery, page: PageOptions) -> PageKeys | None:
    """What the rows of the page are made of, when they can be told from those of other pages."""
    choice = work.query_type.listing.page_keys
    if choice is None or page.order:
        return None
    limit, offset = page.limit_offset(work.query_type.default_limit, work.query_type.max_limit)
    return await find_page_keys(work.engine, choice, work.scope, offset + limit, work.seconds)


async def _execute_paged(work: PreparedQuery, page: PageOptions) -> QueryResult:
    statement = work.statement
    rows = await work.fetch_labelled(page_statement(work.query_type, statement, page))
    total = rows[0][-1] if rows else 0
    if not rows and page.number > 1:
        [(total,)] = await work.fetch(count_statement(statement))
    return QueryResult(await run_in_worker(len(rows), partial(work.to_rows, rows)), total)


async def _execute_whole(work: PreparedQuery, page: PageOptions) -> QueryResult:
    """All rows are made, sorted and cut here."""
    query_type = work.query_type
    points = work.points if query_type.series else []  # asked first: there may be too many
    found = await work.fetch_labelled(work.statement)
    return await run_in_worker(
        len(found) + len(points), partial(_build_result, work, page, points, found)
    )


def _build_result(
    work: PreparedQuery, page: PageOptions, points: Sequence[SeriesPoint], found: Sequence[Row]
) -> QueryResult:
    query_type = work.query_type
    if query_type.series:
        found = fill_series(found, points, field_specs(query_type.row))
    if (finish := work.statement.finish) is not None:
        found = finish(found, work.scope.span, work.now_ms)
    ordered = sort_order.sort_rows(enumerate(work.to_rows(found)), page.order)
    default = MAX_ROWS if query_type.series else query_type.default_limit
    limit, offset = page.limit_offset(default, query_type.max_limit)
    part = ordered[offset : offset + limit]
    return QueryResult([row for _, row in part], len(ordered), [place for place, _ in part])


def page_statement(query_type: QueryType, statement: Statement, page: PageOptions) -> Statement:
    """The statement for one page; a last column says how many rows all pages have."""
    body, _, own = statement.sql.rpartition("ORDER BY")
    order = ", ".join([*sort_order.order_terms(query_type, page.order), own.strip()])
    limit, offset = page.limit_offset(query_type.default_limit, query_type.max_limit)
    return structs.replace(
        statement,
        ctes=(*statement.ctes, Cte("answer", body)),
        sql="SELECT answer.*,\n       COUNT(*) OVER () AS total_rows\n  FROM answer\n"  # noqa: S608
        f" ORDER BY {order}\n LIMIT $limit OFFSET $offset",
        values={**statement.values, "limit": limit, "offset": offset},
    )


def count_statement(statement: Statement) -> Statement:
    """The statement that counts the rows of all pages."""
    body = statement.sql.rpartition("ORDER BY")[0]
    given = (*statement.ctes, Cte("answer", body))
    return structs.replace(statement, ctes=given, sql="SELECT COUNT(*)\n  FROM answer")


def fill_series(
    rows: Sequence[Row], points: Sequence[SeriesPoint], shape: Mapping[str, FieldSpec]
) -> list[Row]:
    """A row for every point of the span, in the order of time; zeros where nothing happened."""
    found = {row[0]: row[1:] for row in rows}
    nothing = (0,) * (sum(len(form.suffixes) for form in shape.values()) - 1)
    return [(point.label, *found.get(point.bucket, nothing)) for point in points]
