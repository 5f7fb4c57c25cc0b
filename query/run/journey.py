"""The journey of queries: authorize; then, for parsed plans, pin, bind, read, encode.

All queries of one HTTP request read one version of each table. Each has an outcome of its own: its
encoded result, or an error.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from msgspec import Struct, structs
from starlette.requests import Request

from query.dependencies import QueryDependencies
from query.engine.deadline import timeout_error
from query.engine.engine import DataFileMissing
from query.engine.engine_choice import bytes_to_read
from query.engine.snapshots import PinnedVersions
from query.formats.negotiation import negotiate_format
from query.formats.output_formats import FORMATS, JSON, Format
from query.prepared.rollup_reader import Work
from query.request.query_string import check_query_string
from query.request.subject import QuerySubject, authorized_subject
from query.response.response_budget import ResponseBudget
from query.response.worker_threads import run_in_worker
from query.run.annotations import annotations_within
from query.run.plan import BoundPlan, Plan, QueryResult, Source, Versions, read_page
from schemas.errors import ApiError
from schemas.http.openapi import Operation
from schemas.plans import Group
from schemas.registry import Key, KeyScope
from schemas.telemetry.instruments import timed_query

CONCURRENCY = 4
"""Queries of one request that run at once, so that one request never fills the tenant's queue."""

Outcome = TypeVar("Outcome")
P = TypeVar("P", bound=Plan)
Step = Callable[[P, BoundPlan], Awaitable[Outcome]]
"""Makes the outcome of one query: runs and encodes it, or explains it."""
Encode = Callable[[P, QueryResult], Outcome]
"""Encodes a result within the budget; runs in a thread when there are many rows."""
Answered = Callable[[P, Outcome | ApiError], Awaitable[None]]
"""Takes the outcome of one query."""


class Run(Struct, Generic[Outcome], frozen=True):
    """The outcome of each query of one request, and the versions that were read."""

    versions: Versions
    outcomes: Sequence[Outcome | ApiError]

    @property
    def only(self) -> Outcome:
        """The outcome of a single query; its error is raised."""
        [outcome] = self.outcomes
        if isinstance(outcome, ApiError):
            raise outcome
        return outcome


class Caller(Struct, frozen=True):
    """Who asks, about what, and the format of the response."""

    key: Key
    subject: QuerySubject
    format: Format


async def authorize(
    dependencies: QueryDependencies,
    request: Request,
    operation: Operation,
    group: Group,
    *,
    shares: bool = False,
    files: bool = True,
) -> Caller:
    """The caller of a request, which is counted.

    `shares`: a shared dashboard may ask, too; `files`: other formats than JSON may be requested.
    """
    admit = dependencies.authorize_or_share if shares else dependencies.authorize
    key = await admit(request, KeyScope.READ_DATA, group)
    check_query_string(request, operation)
    subject = authorized_subject(dependencies, key, request)
    return Caller(key, subject, negotiate_format(request, FORMATS, JSON) if files else JSON)


async def run_plans(
    dependencies: QueryDependencies,
    budget: ResponseBudget,
    plans: Sequence[P],
    step: Step[P, Outcome],
    answered: Answered[P, Outcome] | None = None,
) -> Run[Outcome]:
    """Run the queries of one request; once more when vacuum deletes a data file meanwhile.

    VersionGone or Unavailable when one is missing twice. `answered` takes each outcome as soon as
    it is there: again, for queries that run once more.
    """
    tables = list({table.name: table for plan in plans for table in plan.tables}.values())
    as_of, before = plans[0].query.as_of, budget.savepoint()
    for reopen in (False, True):
        pinned = await dependencies.snapshots.pin_all(tables, as_of, reopen)
        with suppress(DataFileMissing):
            return await _run_pinned(dependencies, budget, plans, step, answered, pinned)
        budget.roll_back(before)
    raise await dependencies.snapshots.missing_files(tables, as_of)


async def _run_pinned(
    dependencies: QueryDependencies,
    budget: ResponseBudget,
    plans: Sequence[P],
    step: Step[P, Outcome],
    answered: Answered[P, Outcome] | None,
    pinned: PinnedVersions,
) -> Run[Outcome]:
    """A task for each query."""
    turns = asyncio.Semaphore(CONCURRENCY)

    async def outcome_of(plan: P) -> Outcome | ApiError:
        async with turns:
            outcome = await _outcome(dependencies, budget, plan, step, pinned)
        if answered is not None:
            await answered(plan, outcome)
        return outcome

    tasks = [asyncio.create_task(outcome_of(plan)) for plan in plans]
    try:
        outcomes = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()  # an exception of one leaves the others running
    return Run(pinned.versions, outcomes)


async def _outcome(
    dependencies: QueryDependencies,
    budget: ResponseBudget,
    plan: P,
    step: Step[P, Outcome],
    pinned: PinnedVersions,
) -> Outcome | ApiError:
    """One query: a slot of its tenant, an engine, the step that runs or explains it."""
    query = plan.query
    try:
        versions = pinned.of_all(plan.tables)
        budget.check()
        slot = dependencies.active.slot(query.subject.tenant, budget.ends)
        async with asyncio.timeout_at(budget.ends), slot:
            bound = plan.bind(_source(dependencies, budget, plan, versions))
            if plan.live_table is not None:
                dependencies.live_views.note(plan.live_table)
            return await step(plan, bound)
    except ApiError as error:
        return error
    except TimeoutError:
        return timeout_error()


def _source(
    dependencies: QueryDependencies, budget: ResponseBudget, plan: Plan, versions: Versions
) -> Source:
    """The versions of the tables of a query, and the engine for what may be read of them."""
    query, custom = plan.query, plan.in_custom_pool
    ranges = [one for one in (query.time_range, query.comparison_range) if one is not None]
    limiter = dependencies.custom_limiter if custom else dependencies.standard_limiter
    engine = limiter.for_tenant(
        query.subject.tenant, bytes_to_read(versions.values(), query.subject.ids, ranges)
    )
    return Source(
        versions,
        engine,
        budget.ends,
        dependencies.results,
        Work.CUSTOM if custom else Work.QUERIES,
        engine.reported_name,
    )


async def run_and_encode(
    encode: Encode[P, Outcome], budget: ResponseBudget, plan: P, bound: BoundPlan
) -> Outcome:
    """The step that runs a query, compares its rows, and encodes them within the budget."""
    query, bucket = plan.query, bound.bucket
    with timed_query(plan.name, bound.source.engine.name):
        page = await read_page(bound)
        comparison = None if query.comparison_range is None else await bound.compare(page)
    result = QueryResult(page, comparison, engine=bound.source.reported_engine)
    if bucket is not None:
        result = structs.replace(
            result,
            partial_bucket=bound.time_range.current_bucket_label(query.now_ms, bucket),
            annotations=annotations_within(query.subject.saved, bound.time_range),
        )
    if warnings := await bound.warnings():
        result = structs.replace(result, warnings=warnings)
    budget.add_rows(len(page.rows) + len(comparison.rows if comparison else ()))
    return await run_in_worker(len(page.rows), partial(encode, plan, result))
