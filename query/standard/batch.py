"""Answering: every question of one request, from one version per table, each with its outcome."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct, structs

from query.dependencies import QueryDependencies
from query.engine.deadline import timeout_error
from query.engine.snapshots import PinnedVersion, PinnedVersions
from query.request.body import convert
from query.request.subject import QuerySubject, SubjectKind
from query.request.suggestions import unknown_name_message
from query.response.response_budget import ResponseBudget
from query.response.worker_threads import run_in_worker
from query.standard.comparison import Comparison, compare
from query.standard.declaration.query_type import QueryType
from query.standard.execute import PreparedQuery, QueryResult, execute
from query.standard.query_types import QUERY_TYPES
from query.standard.request import StandardQuery, StandardRequest
from query.standard.scope import build_scope
from schemas.errors import ApiError, Malformed, Unavailable
from schemas.tables import Table

CONCURRENCY = 4
"""Questions of one request that run at the same time, so that it never fills the queue alone."""


class ComparedResult(Struct, frozen=True):
    """One answer, and what was asked for beside it."""

    result: QueryResult
    partial: str | None = None
    """Of a series: the label of the bucket that can still grow."""
    comparison: Comparison | None = None


class QueryBatch(Struct, frozen=True):
    """The query types of one request, asked within one budget."""

    desk: QueryDependencies
    subject: QuerySubject
    request: StandardRequest
    budget: ResponseBudget

    @property
    def tables(self) -> Mapping[str, Table]:
        """All tables that are read."""
        return {t.name: t for one in self.request.queries for t in tables_read(one, self.subject)}


Snapshots = Mapping[str, PinnedVersion]

Outcome = TypeVar("Outcome")
MakeOutcome = Callable[[StandardQuery, ComparedResult], Outcome]
"""Makes of an answer what is kept of it; runs in a thread where there are many rows."""


async def execute_batch(
    batch: QueryBatch, make: MakeOutcome[Outcome]
) -> tuple[Snapshots, Sequence[Outcome | ApiError]]:
    """The outcome of each query, from one version per table."""
    return await batch.desk.snapshots.with_pinned(
        list(batch.tables.values()),
        batch.request.as_of,
        partial(_execute_at, batch, make),
        reset=partial(batch.budget.roll_back, batch.budget.savepoint()),
    )


async def _execute_at(
    batch: QueryBatch, make: MakeOutcome[Outcome], pinned: PinnedVersions
) -> tuple[Snapshots, Sequence[Outcome | ApiError]]:
    pins, damaged = pinned.versions, pinned.damaged
    turns = asyncio.Semaphore(CONCURRENCY)

    async def outcome(one: StandardQuery) -> Outcome | ApiError:
        for table in tables_read(one, batch.subject):
            if table.name in damaged:
                return damaged[table.name]
        async with turns:
            return await _execute_one(batch, one, pins, make)

    asking = [asyncio.create_task(outcome(one)) for one in batch.request.queries]
    try:
        outcomes = await asyncio.gather(*asking)
    finally:
        for task in asking:
            task.cancel()  # those that one failure left behind
    broken = [o for o in outcomes if isinstance(o, Unavailable)]
    if len(broken) == len(outcomes):
        raise broken[0]
    return pins, outcomes


async def _execute_one(
    batch: QueryBatch, one: StandardQuery, pins: Snapshots, make: MakeOutcome[Outcome]
) -> Outcome | ApiError:
    budget = batch.budget
    try:
        budget.check()
        async with asyncio.timeout_at(budget.ends):
            answered = await _execute_with_comparison(batch, one, pins)
            compared = answered.comparison.rows if answered.comparison else ()
            budget.add_rows(len(answered.result.rows) + len(compared))
            return await run_in_worker(len(answered.result.rows), partial(make, one, answered))
    except ApiError as refused:
        return refused
    except TimeoutError:
        return timeout_error()


async def _execute_with_comparison(
    batch: QueryBatch, one: StandardQuery, pins: Snapshots
) -> ComparedResult:
    work = _prepare(batch, one, pins)
    answer = await execute(work, batch.request.page)
    compared = running = None
    if one.comparison_range is not None:
        points = work.points if work.query_type.starts_with_time else []
        held = _prepare(batch, structs.replace(one, time_range=one.comparison_range), pins)
        compared = await compare(held, answer, points)
    if work.query_type.starts_with_time:
        running = work.scope.span.current_bucket_label(work.now_ms, work.bucket_scope.granularity)
    return ComparedResult(answer, running, compared)


def _prepare(batch: QueryBatch, one: StandardQuery, pins: Snapshots) -> PreparedQuery:
    who, desk = batch.subject, batch.desk
    query_type = find_query_type(one.name, who.kind)
    now_ms = desk.clock()
    options = query_type.options and convert(one.options, query_type.options, one.path)
    scope = build_scope(query_type, who.id, batch.request, one, pins, now_ms)
    engine = desk.standard_limiter.for_tenant(who.organization_id)
    return PreparedQuery(engine, query_type, scope, options, now_ms, batch.budget.ends)


def find_query_type(name: str, kind: SubjectKind) -> QueryType:
    """The query type of that name for that kind of subject."""
    query_type = QUERY_TYPES.get(name)
    if query_type is None:
        fitting = [n for n, each in QUERY_TYPES.items() if each.subject is kind]
        raise Malformed(unknown_name_message("query type", name, fitting))
    if query_type.subject is not kind:
        raise Malformed(f"Query type '{name}' is asked with '{query_type.subject}', not '{kind}'")
    return query_type


def tables_read(one: StandardQuery, who: QuerySubject) -> Sequence[Table]:
    """The tables that a question reads."""
    query_type = QUERY_TYPES.get(one.name)
    return query_type.tables if query_type and query_type.subject is who.kind else ()
