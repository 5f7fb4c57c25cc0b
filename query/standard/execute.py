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
from query.request.order import Order
from query.request.time_range import Point
from query.response.worker_threads import aside
from query.scope.scope import Scope
from query.standard import sort_order
from query.standard.declaration.fields import Form
from query.standard.declaration.query_type import Context, Cte, QueryType, Statement, forms, shaped
from query.standard.nested_lists import added
from query.standard.page_keys import Chosen, chosen
from query.standard.statement import whole

MOST_ROWS = 10_000


class Page(Struct, frozen=True):
    """Which rows of the answer are wanted; without a limit the type's own holds."""

    number: int = 1
    limit: int | None = None
    order: Sequence[Order] = ()
    """What they are sorted by before the type's own order."""

    def cut(self, default: int, most: int = MOST_ROWS) -> tuple[int, int]:
        """Limit and offset."""
        limit = min(self.limit or default, most)
        return limit, (self.number - 1) * limit


class Answer(Struct, frozen=True):
    """The rows of one page, and what there is besides."""

    rows: Sequence[Struct]
    total: int
    """Rows of all pages."""
    places: Sequence[int] = ()
    """The place of each row among those of all pages before they were sorted, from 0."""


class Work(Struct, frozen=True):
    """One question, ready to be asked; all its statements share the time until `ends`."""

    engine: Engine
    query_type: QueryType
    scope: Scope
    options: Any
    now_ms: int
    ends: float
    """When its time is over, in the loop's time."""

    @property
    def seconds(self) -> float:
        """What is left of its time."""
        return max(0.0, self.ends - asyncio.get_running_loop().time())

    @property
    def statement(self) -> Statement:
        """The type's SQL for the options."""
        return self.query_type.statement(self.options)

    def shaped(self, rows: Sequence[Row]) -> list[Struct]:
        """Rows of the answer from rows of SQL."""
        shape = forms(self.query_type.row)
        return [shaped(self.query_type.row, row, shape) for row in rows]

    async def found(self, statement: Statement) -> list[Row]:
        """The rows of a statement as the engine gives them."""
        sql = await whole(self.engine, self.bucketed, statement)
        return await self.engine.rows(sql, self.seconds)

    async def rows(self, statement: Statement) -> list[Row]:
        """The rows of a statement; a point in time gets its label."""
        rows = await self.found(statement)
        if not (self.query_type.timed and self.query_type.sparse):
            return rows
        labels = {point.bucket: point.label for point in self.points}
        return [(labels[row[0]], *row[1:]) for row in rows]

    @property
    def bucketed(self) -> Scope:
        """The scope, with the width of the buckets that the statement wants."""
        granularity = self.statement.granularity or self.scope.granularity
        return structs.replace(self.scope, granularity=granularity)

    @property
    def points(self) -> list[Point]:
        """Every bucket of the span."""
        return self.bucketed.span.points(self.bucketed.granularity)


async def run(work: Work, page: Page) -> Answer:
    """One page of the answer."""
    query_type = work.query_type
    sort_order.checked(query_type, page.order)
    near = await _near(work, page)
    if near is not None:
        work = structs.replace(work, scope=near.scope)
    by_engine = not query_type.series and query_type.finish is None
    answer = await (_paged(work, page) if by_engine else _cut(work, page))
    rows = await detailed(work, answer.rows)
    return structs.replace(answer, rows=rows, total=near.total if near else answer.total)


async def detailed(work: Work, rows: Sequence[Struct]) -> Sequence[Struct]:
    """The rows of a page with what is looked up for them alone."""
    found = list(rows)
    for detail in work.query_type.details:
        found = await added(work.engine, detail, work.scope, found, work.seconds)
    return found


async def _near(work: Work, page: Page) -> Chosen | None:
    """What the rows of the page are made of, when they can be told from those of other pages."""
    if work.query_type.choice is None or page.order:
        return None
    limit, offset = page.cut(work.query_type.limit, work.query_type.most)
    choice = work.query_type.choice
    return await chosen(work.engine, choice, work.scope, offset + limit, work.seconds)


async def _paged(work: Work, page: Page) -> Answer:
    statement = work.statement
    rows = await work.rows(paged(work.query_type, statement, page))
    total = rows[0][-1] if rows else 0
    if not rows and page.number > 1:
        [(total,)] = await work.found(counted(statement))
    return Answer(await aside(len(rows), partial(work.shaped, rows)), total)


async def _cut(work: Work, page: Page) -> Answer:
    """All rows are made, sorted and cut here."""
    query_type = work.query_type
    points = work.points if query_type.series else []  # asked first: there may be too many
    found = await work.rows(work.statement)
    return await aside(len(found) + len(points), partial(_made, work, page, points, found))


def _made(work: Work, page: Page, points: Sequence[Point], found: Sequence[Row]) -> Answer:
    query_type = work.query_type
    if query_type.series:
        found = filled(found, points, forms(query_type.row))
    if query_type.finish is not None:
        found = query_type.finish(found, Context(work.scope, work.options, work.now_ms))
    ordered = sort_order.sort(enumerate(work.shaped(found)), page.order)
    default = MOST_ROWS if query_type.series else query_type.limit
    limit, offset = page.cut(default, query_type.most)
    part = ordered[offset : offset + limit]
    return Answer([row for _, row in part], len(ordered), [place for place, _ in part])


def paged(query_type: QueryType, statement: Statement, page: Page) -> Statement:
    """The statement for one page; a last column says how many rows all pages have."""
    body, _, own = statement.sql.rpartition("ORDER BY")
    order = ", ".join([*sort_order.terms(query_type, page.order), own.strip()])
    limit, offset = page.cut(query_type.limit, query_type.most)
    return structs.replace(
        statement,
        given=(*statement.given, Cte("answer", body)),
        sql="SELECT answer.*,\n       COUNT(*) OVER () AS total_rows\n  FROM answer\n"  # noqa: S608
        f" ORDER BY {order}\n LIMIT $limit OFFSET $offset",
        values={**statement.values, "limit": limit, "offset": offset},
    )


def counted(statement: Statement) -> Statement:
    """The statement that counts the rows of all pages."""
    body = statement.sql.rpartition("ORDER BY")[0]
    given = (*statement.given, Cte("answer", body))
    return structs.replace(statement, given=given, sql="SELECT COUNT(*)\n  FROM answer")


def filled(rows: Sequence[Row], points: Sequence[Point], shape: Mapping[str, Form]) -> list[Row]:
    """A row for every point of the span, in the order of time; zeros where nothing happened."""
    found = {row[0]: row[1:] for row in rows}
    nothing = (0,) * (sum(len(form.suffixes) for form in shape.values()) - 1)
    return [(point.label, *found.get(point.bucket, nothing)) for point in points]
