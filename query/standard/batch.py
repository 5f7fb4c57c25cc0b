"""Runs all queries of a request on one version per table; each has an outcome of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from msgspec import UNSET, Struct, UnsetType, structs

from query.dependencies import QueryDependencies
from query.engine.deadline import timeout_error
from query.engine.routing import bytes_to_read
from query.engine.snapshots import PinnedVersion, PinnedVersions
from query.engine.tenant_limits import TenantEngine
from query.request.query import Query
from query.response.bodies import ResultWarning, SeriesAnnotation
from query.response.response_budget import ResponseBudget
from query.response.worker_threads import run_in_worker
from query.standard.annotations import annotations_within
from query.standard.applicability import check_own_members
from query.standard.comparison import Comparison, compare, comparison_statement
from query.standard.execute import QueryResult, execute
from query.standard.prepared_query import PreparedQuery, prepare
from query.standard.query_types import tables_read
from query.standard.scope import scopes_of
from schemas.errors import ApiError, Unavailable
from schemas.telemetry.instruments import timed_query

CONCURRENCY = 4
"""Queries of one request that run at once, so that one request never fills the tenant's queue."""


class ComparedResult(Struct, frozen=True):
    """The result of one query, with its comparison if the request has one."""

    result: QueryResult
    partial: str | None = None
    """Label of the bucket that can still grow, in a result whose rows begin with time."""
    comparison: Comparison | None = None
    annotations: Sequence[SeriesAnnotation] = ()
    """Of the website, in a result whose rows begin with time."""
    warnings: Sequence[ResultWarning] = ()
    engine: str | UnsetType = UNSET
    """The name of the engine, where there are several."""


Versions = Mapping[str, PinnedVersion]
Outcome = TypeVar("Outcome")
Encode = Callable[[Query, ComparedResult], Outcome]
"""Encodes a result within the budget; runs in a thread when there are many rows."""
Answered = Callable[[Query, Outcome | ApiError], Awaitable[None]]
"""Takes each outcome as soon as it is there; more than once for a query that runs once more."""


async def no_action(_query: Query, _outcome: object) -> None:
    """Outcomes are taken when all are there."""


async def run_all(
    queries: Sequence[Query],
    dependencies: QueryDependencies,
    budget: ResponseBudget,
    encode: Encode[Outcome],
    answered: Answered[Outcome] = no_action,
) -> tuple[Versions, Sequence[Outcome | ApiError]]:
    """The outcome of each query of one request, and the versions that were read."""
    tables = {table.name: table for query in queries for table in tables_read(query)}
    return await dependencies.snapshots.with_pinned(
        list(tables.values()),
        queries[0].as_of,
        partial(_run_pinned, queries, dependencies, budget, encode, answered),
        reset=partial(budget.roll_back, budget.savepoint()),
    )


async def _run_pinned(
    queries: Sequence[Query],
    dependencies: QueryDependencies,
    budget: ResponseBudget,
    encode: Encode[Outcome],
    answered: Answered[Outcome],
    pinned: PinnedVersions,
) -> tuple[Versions, Sequence[Outcome | ApiError]]:
    semaphore = asyncio.Semaphore(CONCURRENCY)

    async def outcome_of(query: Query) -> Outcome | ApiError:
        damaged = [pinned.damaged[t.name] for t in tables_read(query) if t.name in pinned.damaged]
        if damaged:
            outcome: Outcome | ApiError = damaged[0]
        else:
            async with semaphore:
                outcome = await _run_one(query, pinned.versions, dependencies, budget, encode)
        await answered(query, outcome)
        return outcome

    tasks = [asyncio.create_task(outcome_of(query)) for query in queries]
    try:
        outcomes = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()  # an exception of one leaves the others running
    unavailable = [outcome for outcome in outcomes if isinstance(outcome, Unavailable)]
    if len(unavailable) == len(outcomes):
        raise unavailable[0]
    return pinned.versions, outcomes


async def _run_one(
    query: Query,
    versions: Versions,
    dependencies: QueryDependencies,
    budget: ResponseBudget,
    encode: Encode[Outcome],
) -> Outcome | ApiError:
    try:
        budget.check()
        slot = dependencies.active.slot(query.subject.tenant, budget.ends)
        async with asyncio.timeout_at(budget.ends), slot:
            engine, prepared = prepare_with_engine(query, versions, dependencies, budget)
            if prepared.query_type.is_live and query.as_of is None:
                dependencies.live_views.note(prepared.query_type.table)
            with timed_query(query.name, engine.name):
                compared = await _execute_and_compare(prepared, versions)
            compared = structs.replace(compared, engine=engine.reported_name)
            compared_rows = compared.comparison.rows if compared.comparison else ()
            budget.add_rows(len(compared.result.rows) + len(compared_rows))
            return await run_in_worker(len(compared.result.rows), partial(encode, query, compared))
    except ApiError as error:
        return error
    except TimeoutError:
        return timeout_error()


def prepare_with_engine(
    query: Query, versions: Versions, dependencies: QueryDependencies, budget: ResponseBudget
) -> tuple[TenantEngine, PreparedQuery]:
    """The query with its statement and scopes, and the engine that answers it; else Malformed."""
    check_own_members(query)
    engine = _engine_for(query, versions, dependencies)
    return engine, prepare(query, versions, engine, budget.ends, dependencies.results)


def _engine_for(query: Query, versions: Versions, dependencies: QueryDependencies) -> TenantEngine:
    read = [versions[table.name] for table in tables_read(query)]
    ranges = [query.time_range, *([query.comparison_range] if query.comparison_range else [])]
    return dependencies.standard_limiter.for_tenant(
        query.subject.tenant, bytes_to_read(read, query.subject.ids, ranges)
    )


async def _execute_and_compare(prepared: PreparedQuery, versions: Versions) -> ComparedResult:
    query, query_type = prepared.query, prepared.query_type
    result = await execute(prepared)
    comparison = partial_bucket = None
    annotations: Sequence[SeriesAnnotation] = ()
    if query.comparison_range is not None:
        points = prepared.points if query_type.starts_with_time else []
        other = structs.replace(query, time_range=query.comparison_range)
        statement = await comparison_statement(prepared)
        scopes = scopes_of(other, query_type, statement, versions)
        earlier = structs.replace(prepared, query=other, scopes=scopes, statement=statement)
        comparison = await compare(earlier, result, points)
    if query_type.starts_with_time:
        time_range = prepared.time_range
        partial_bucket = time_range.current_bucket_label(query.now_ms, prepared.granularity)
        annotations = annotations_within(query.subject.saved, time_range)
    warnings = await prepared.warnings()
    return ComparedResult(result, partial_bucket, comparison, annotations, warnings)
